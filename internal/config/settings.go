package config

import "encoding/json"

// Settings is everything that can be set. A field's tags say all that the package knows of it:
//
//	json     its name in the file
//	desc     one line for people: the schema, the documentation and config explain print it
//	default  its value when no layer sets it
//	enum     the texts it may be; keys: the names an object may have; min, max: bounds of a number
//	never    layers that may not set it; only: the one layer that may
//	trust    what it is to a project that is not trusted: hooks, servers, lsp, env, keys, status, plugins or rules.
//	         Values of such a field from the project's files wait for trust (see Trust)
//	merge    replace: a stronger layer replaces the whole object instead of merging into it
//	list     cap: when managed settings have the list, only theirs counts. widen: when they have it, the
//	         project's files cannot add to it
//	needs    must be there, or the object that lacks it is dropped
type Settings struct {
	Schema string `json:"$schema" desc:"where editors find the schema of this file"`

	Model                  string            `json:"model" desc:"the model to use: a name, or an alias such as sonnet"`
	SmallModel             string            `json:"smallModel" desc:"the small, quick model for side work such as summaries and page answers"`
	FallbackModel          StringList        `json:"fallbackModel" desc:"models to change to, in order, after repeated overload"`
	AvailableModels        []string          `json:"availableModels" desc:"the only models that may be chosen" list:"cap"`
	EnforceAvailableModels bool              `json:"enforceAvailableModels" desc:"hold the default model to availableModels too" only:"managed"`
	Models                 map[string]Model  `json:"models" desc:"what gofer should know of models that its catalogue lacks, by name" trust:"keys"`
	ModelOverrides         map[string]string `json:"modelOverrides" desc:"the provider's own name for a model, by model name"`
	EffortLevel            string            `json:"effortLevel" desc:"how hard the model thinks" enum:"low|medium|high|xhigh|max"`
	AlwaysThinkingEnabled  *bool             `json:"alwaysThinkingEnabled" desc:"think before every reply; unset leaves it to the model"`
	FastMode               bool              `json:"fastMode" desc:"ask the provider for its faster, dearer service"`
	PromptCacheTTL         string            `json:"promptCacheTTL" desc:"how long the provider keeps the cached prompt" enum:"5m|1h" default:"5m"`

	APIKeyHelper        string            `json:"apiKeyHelper" desc:"a command that prints the API key" trust:"keys"`
	AWSAuthRefresh      string            `json:"awsAuthRefresh" desc:"a command that renews AWS credentials in their files" trust:"keys"`
	AWSCredentialExport string            `json:"awsCredentialExport" desc:"a command that prints AWS credentials as JSON" trust:"keys"`
	GCPAuthRefresh      string            `json:"gcpAuthRefresh" desc:"a command that renews Google Cloud credentials" trust:"keys"`
	OtelHeadersHelper   string            `json:"otelHeadersHelper" desc:"a command that prints the headers for telemetry as JSON" trust:"keys"`
	Env                 map[string]string `json:"env" desc:"environment variables for gofer and what it starts" trust:"env"`

	Permissions                     Permissions `json:"permissions" desc:"what may run without asking, what is asked, what is denied"`
	AllowManagedPermissionRulesOnly bool        `json:"allowManagedPermissionRulesOnly" desc:"allow rules count only from managed settings; ask and deny rules still count from everywhere" only:"managed"`
	DisableAutoMode                 string      `json:"disableAutoMode" desc:"forbid the mode auto" enum:"disable"`
	AutoMode                        AutoMode    `json:"autoMode" desc:"what the classifier of the mode auto is told" trust:"rules"`
	UseAutoModeDuringPlan           bool        `json:"useAutoModeDuringPlan" desc:"let the classifier judge commands while planning" trust:"rules"`
	SkipDangerousModePrompt         bool        `json:"skipDangerousModePermissionPrompt" desc:"do not warn again before bypassPermissions" never:"project"  trust:"rules"`
	HeadlessTrust                   string      `json:"headlessTrust" desc:"assume: a headless run counts as trusted for the project's hooks and servers. careful: it does not" enum:"assume|careful" default:"assume" never:"project|local"`
	Sandbox                         Sandbox     `json:"sandbox" desc:"the walls around commands"`

	Hooks                  map[string][]HookGroup `json:"hooks" desc:"commands that run at named moments" trust:"hooks" keys:"SessionStart|SessionEnd|Setup|UserPromptSubmit|UserPromptExpansion|Notification|Stop|StopFailure|PreToolUse|PostToolUse|PostToolUseFailure|PostToolBatch|PermissionRequest|PermissionDenied|SubagentStart|SubagentStop|TeammateIdle|TaskCreated|TaskCompleted|PreCompact|PostCompact|InstructionsLoaded|Elicitation|ElicitationResult|ConfigChange|CwdChanged|FileChanged|WorktreeCreate|WorktreeRemove|MessageDisplay"`
	DisableAllHooks        bool                   `json:"disableAllHooks" desc:"run no hooks and no status line; managed hooks run unless managed settings say this" trust:"rules"`
	AllowManagedHooksOnly  bool                   `json:"allowManagedHooksOnly" desc:"run only hooks from managed settings and from the program that drives gofer" only:"managed"`
	AllowedHTTPHookURLs    []string               `json:"allowedHttpHookUrls" desc:"the only addresses that http hooks may call; * is a wildcard" list:"cap"`
	HTTPHookAllowedEnvVars []string               `json:"httpHookAllowedEnvVars" desc:"the only variables that http hooks may put into headers" list:"cap"`
	EventLog               EventLog               `json:"eventLog" desc:"a log of every event of a session" trust:"hooks"`
	Webhook                Webhook                `json:"webhook" desc:"events forwarded to an address" trust:"hooks" merge:"replace"`

	Language               string      `json:"language" desc:"the language of replies, such as german"`
	PromptLanguage         string      `json:"promptLanguage" desc:"the language of gofer's own prompts" enum:"eng|chn" default:"eng"`
	OutputStyle            string      `json:"outputStyle" desc:"how replies are written: default, explanatory, learning, or a style of your own"`
	IncludeGitInstructions bool        `json:"includeGitInstructions" desc:"tell the model how to commit and make pull requests" default:"true"`
	ClaudeMd               string      `json:"claudeMd" desc:"instructions for every session on this machine" only:"managed"`
	ClaudeMdExcludes       []string    `json:"claudeMdExcludes" desc:"instruction files not to load, as globs over absolute paths"`
	AutoCompactEnabled     bool        `json:"autoCompactEnabled" desc:"compact the conversation before the window is full" default:"true"`
	AutoCompactWindow      int         `json:"autoCompactWindow" desc:"compact as if the window had this many tokens" min:"1000"`
	AutoMemoryEnabled      bool        `json:"autoMemoryEnabled" desc:"keep and recall memories" default:"true"`
	AutoMemoryDirectory    string      `json:"autoMemoryDirectory" desc:"where memories are kept instead of CONFIG/projects/<project>/memory" never:"project" trust:"rules"`
	MemoryDailyLog         bool        `json:"memoryDailyLog" desc:"keep memories as a log by day, distilled by /dream"`
	PlansDirectory         string      `json:"plansDirectory" desc:"where plans are written, relative to the project" trust:"rules"`
	Attribution            Attribution `json:"attribution" desc:"what commits and pull requests say of gofer"`
	IncludeCoAuthoredBy    bool        `json:"includeCoAuthoredBy" desc:"name gofer as co-author of commits; attribution says it more exactly" default:"true"`

	CleanupPeriodDays        int         `json:"cleanupPeriodDays" desc:"days after which unused transcripts and their files are removed" default:"30" min:"1" trust:"rules"`
	FileCheckpointingEnabled bool        `json:"fileCheckpointingEnabled" desc:"keep old versions of changed files for /rewind" default:"true"`
	FileHistory              FileHistory `json:"fileHistory" desc:"how much of changed files is kept"`

	Tasks    bool     `json:"tasks" desc:"the shared task board; false gives the plain todo list" default:"true"`
	Board    string   `json:"board" desc:"redis://… when agents on many machines share tasks and messages" trust:"servers"`
	Agent    string   `json:"agent" desc:"the agent that the main conversation runs as"`
	Agents   Agents   `json:"agents" desc:"limits for sub-agents"`
	Worktree Worktree `json:"worktree" desc:"how worktrees are made"`
	Teammate string   `json:"teammateMode" desc:"where teammates run" enum:"auto|in-process|tmux" default:"in-process"`

	MCPServers             map[string]MCPServer       `json:"mcpServers" desc:"MCP servers by name" trust:"servers" merge:"replace"`
	EnableAllProjectMCP    bool                       `json:"enableAllProjectMcpServers" desc:"approve every server of the project's .mcp.json" trust:"servers"`
	EnabledMCPJSONServers  []string                   `json:"enabledMcpjsonServers" desc:"approved servers of .mcp.json" trust:"servers"`
	DisabledMCPJSONServers []string                   `json:"disabledMcpjsonServers" desc:"refused servers of .mcp.json"`
	AllowedMCPServers      []MCPMatch                 `json:"allowedMcpServers" desc:"the only MCP servers that may be used; empty means none" list:"cap"`
	DeniedMCPServers       []MCPMatch                 `json:"deniedMcpServers" desc:"MCP servers that may not be used"`
	AllowManagedMCPOnly    bool                       `json:"allowManagedMcpServersOnly" desc:"allowedMcpServers counts only from managed settings" only:"managed"`
	EnabledPlugins         map[string]Enabled         `json:"enabledPlugins" desc:"plugins by name@marketplace: true, false, or the versions wanted" trust:"plugins"`
	ExtraMarketplaces      map[string]Marketplace     `json:"extraKnownMarketplaces" desc:"more places to get plugins from" trust:"plugins" merge:"replace"`
	StrictMarketplaces     []json.RawMessage          `json:"strictKnownMarketplaces" desc:"the only marketplaces that may be added" only:"managed"`
	BlockedMarketplaces    []json.RawMessage          `json:"blockedMarketplaces" desc:"marketplaces that may not be added" only:"managed"`
	PluginConfigs          map[string]json.RawMessage `json:"pluginConfigs" desc:"options of plugins, by plugin" trust:"plugins"`
	SkillOverrides         map[string]string          `json:"skillOverrides" desc:"how a skill is shown, by name" enum:"on|name-only|user-invocable-only|off"`
	DisableBundledSkills   bool                       `json:"disableBundledSkills" desc:"leave out the skills that come with gofer"`
	DisableSkillShell      bool                       `json:"disableSkillShellExecution" desc:"never run commands that stand inside skills"`
	LSPServers             map[string]LSPServer       `json:"lspServers" desc:"language servers by name" trust:"lsp" merge:"replace"`
	LanguageServers        bool                       `json:"languageServers" desc:"use the language servers of common languages where they are installed" default:"true"`
	WebSearch              WebSearch                  `json:"webSearch" desc:"a search service for models whose provider has none" trust:"servers"`
	WebFetch               WebFetch                   `json:"webFetch" desc:"what WebFetch may reach"`

	Theme                string        `json:"theme" desc:"colours: auto, dark, light, dark-daltonized, light-daltonized, dark-ansi, light-ansi, or custom:NAME" default:"auto"`
	UILanguage           string        `json:"uiLanguage" desc:"the language of gofer's own texts on the screen" enum:"auto|en|zh" default:"auto"`
	EditorMode           string        `json:"editorMode" desc:"keys of the prompt box" enum:"normal|vim|emacs" default:"normal"`
	StatusLine           *StatusLine   `json:"statusLine" desc:"a command that prints the status line" trust:"status" merge:"replace"`
	SubagentStatusLine   *StatusLine   `json:"subagentStatusLine" desc:"a command that prints the status line of sub-agents" trust:"status" merge:"replace"`
	FileSuggestion       *ShellCommand `json:"fileSuggestion" desc:"a command that completes file names after @" trust:"status" merge:"replace"`
	RespectGitignore     bool          `json:"respectGitignore" desc:"leave ignored files out of the completion after @" default:"true"`
	Verbose              bool          `json:"verbose" desc:"show tool output in full"`
	ViewMode             string        `json:"viewMode" desc:"how much of the conversation is shown" enum:"default|verbose|focus" default:"default"`
	ShowTurnDuration     bool          `json:"showTurnDuration" desc:"say how long a turn took" default:"true"`
	SpinnerTipsEnabled   bool          `json:"spinnerTipsEnabled" desc:"show tips while the model works" default:"true"`
	SpinnerVerbs         SpinnerVerbs  `json:"spinnerVerbs" desc:"words that the spinner shows"`
	ReducedMotion        bool          `json:"prefersReducedMotion" desc:"fewer animations"`
	ScreenReader         bool          `json:"axScreenReader" desc:"flat output for screen readers"`
	SyntaxHighlightOff   bool          `json:"syntaxHighlightingDisabled" desc:"no colours in code"`
	ProgressBarEnabled   bool          `json:"terminalProgressBarEnabled" desc:"show progress in the terminal's title bar" default:"true"`
	NotifyChannel        string        `json:"preferredNotifChannel" desc:"how gofer calls for attention" enum:"auto|terminal_bell|iterm2|iterm2_with_bell|kitty|ghostty|notifications_disabled" default:"auto"`
	CompanyAnnouncements []string      `json:"companyAnnouncements" desc:"lines of which one is shown at start"`
}

package config

import "encoding/json"

// Permissions is who may do what. Read the rules with Snapshot.Rules, which knows where each came from.
type Permissions struct {
	Allow                 []string `json:"allow" desc:"rules for what runs without asking" trust:"rules"`
	Ask                   []string `json:"ask" desc:"rules for what is always asked"`
	Deny                  []string `json:"deny" desc:"rules for what never runs"`
	DefaultMode           string   `json:"defaultMode" desc:"the mode that a session starts in" enum:"default|manual|acceptEdits|plan|dontAsk|auto|bypassPermissions" trust:"rules"`
	AdditionalDirectories []string `json:"additionalDirectories" desc:"more folders to work in" trust:"rules" list:"widen"`
	DisableBypass         string   `json:"disableBypassPermissionsMode" desc:"forbid the mode bypassPermissions" enum:"disable"`
	DisableAuto           string   `json:"disableAutoMode" desc:"forbid the mode auto" enum:"disable"`
}

// AutoMode is what the classifier of the mode auto is told.
type AutoMode struct {
	Allow       []string `json:"allow" desc:"what it should let pass" list:"widen"`
	SoftDeny    []string `json:"soft_deny" desc:"what it should stop unless the user asked for it"`
	HardDeny    []string `json:"hard_deny" desc:"what it should always stop"`
	Environment []string `json:"environment" desc:"what it should know of this place"`
}

// Sandbox is the walls around commands.
type Sandbox struct {
	Enabled           bool              `json:"enabled" desc:"run commands inside walls" trust:"rules"`
	FailIfUnavailable bool              `json:"failIfUnavailable" desc:"stop when the system cannot build the walls, instead of going on without" trust:"rules"`
	AutoAllow         bool              `json:"autoAllowBashIfSandboxed" desc:"commands inside the walls run without asking" default:"true" trust:"rules"`
	ExcludedCommands  []string          `json:"excludedCommands" desc:"commands that run outside the walls" trust:"rules" list:"widen"`
	AllowUnsandboxed  bool              `json:"allowUnsandboxedCommands" desc:"the model may ask to run a command outside the walls" default:"true" trust:"rules"`
	WeakerNested      bool              `json:"enableWeakerNestedSandbox" desc:"accept weaker walls inside containers" trust:"rules"`
	BwrapPath         string            `json:"bwrapPath" desc:"the bubblewrap program to use" only:"managed"`
	Filesystem        SandboxFilesystem `json:"filesystem" desc:"which files commands reach"`
	Network           SandboxNetwork    `json:"network" desc:"which hosts commands reach"`
}

// SandboxFilesystem says which files commands reach.
type SandboxFilesystem struct {
	AllowWrite           []string `json:"allowWrite" desc:"more paths that commands may write to" trust:"rules" list:"widen"`
	DenyWrite            []string `json:"denyWrite" desc:"paths that commands may not write to"`
	AllowRead            []string `json:"allowRead" desc:"paths inside denyRead that may be read after all" trust:"rules" list:"widen"`
	DenyRead             []string `json:"denyRead" desc:"paths that are hidden from commands"`
	ManagedReadPathsOnly bool     `json:"allowManagedReadPathsOnly" desc:"allowRead counts only from managed settings" only:"managed"`
}

// SandboxNetwork says which hosts commands reach.
type SandboxNetwork struct {
	AllowedDomains     []string `json:"allowedDomains" desc:"hosts that commands may reach; *.example.com covers those below" trust:"rules" list:"widen"`
	DeniedDomains      []string `json:"deniedDomains" desc:"hosts that commands may not reach, whatever allowedDomains says"`
	ManagedDomainsOnly bool     `json:"allowManagedDomainsOnly" desc:"allowedDomains counts only from managed settings" only:"managed"`
	AllowUnixSockets   []string `json:"allowUnixSockets" desc:"unix sockets that commands may open" trust:"rules" list:"widen"`
	AllowAllSockets    bool     `json:"allowAllUnixSockets" desc:"commands may open every unix socket" trust:"rules"`
	AllowLocalBinding  bool     `json:"allowLocalBinding" desc:"commands may listen on local ports" trust:"rules"`
	HTTPProxyPort      int      `json:"httpProxyPort" desc:"the port of your own HTTP proxy, instead of gofer's" min:"1" max:"65535" trust:"rules"`
	SocksProxyPort     int      `json:"socksProxyPort" desc:"the port of your own SOCKS proxy, instead of gofer's" min:"1" max:"65535" trust:"rules"`
}

// A HookGroup is the hooks of one event that share a matcher.
type HookGroup struct {
	Matcher     string `json:"matcher" desc:"which calls or reasons it is for: a name, names joined by |, or a regular expression; empty for all"`
	Hooks       []Hook `json:"hooks" desc:"what runs" needs:"yes"`
	Description string `json:"description" desc:"a note for people"`

	Origin Origin `json:"-"`
}

// A Hook is one reaction. Which fields count depends on Type.
type Hook struct {
	Type            string            `json:"type" desc:"what kind of hook it is" enum:"command|prompt|agent|http|mcp_tool" needs:"yes"`
	Command         string            `json:"command" desc:"command: what runs"`
	Args            []string          `json:"args" desc:"command: arguments; the command then runs without a shell"`
	Shell           string            `json:"shell" desc:"command: which shell" enum:"bash|powershell"`
	Prompt          string            `json:"prompt" desc:"prompt, agent: what is asked; $ARGUMENTS is the event"`
	Model           string            `json:"model" desc:"prompt, agent: which model answers"`
	ContinueOnBlock bool              `json:"continueOnBlock" desc:"prompt: a no goes to the model as a reason, and the turn goes on"`
	URL             string            `json:"url" desc:"http: where the event is sent"`
	Headers         map[string]string `json:"headers" desc:"http: headers; $NAME is a variable"`
	AllowedEnvVars  []string          `json:"allowedEnvVars" desc:"http: the variables that headers may use"`
	Server          string            `json:"server" desc:"mcp_tool: which server"`
	Tool            string            `json:"tool" desc:"mcp_tool: which tool"`
	Input           json.RawMessage   `json:"input" desc:"mcp_tool: the tool's input"`
	If              string            `json:"if" desc:"a permission rule that the call must match"`
	Timeout         float64           `json:"timeout" desc:"seconds before it is stopped" min:"0"`
	Async           bool              `json:"async" desc:"do not wait for it"`
	AsyncRewake     bool              `json:"asyncRewake" desc:"do not wait; exit code 2 wakes the model"`
	Once            bool              `json:"once" desc:"run it once in a session"`
	OnFailure       string            `json:"onFailure" desc:"what a failure of the hook itself means for the call" enum:"allow|block"`
	StatusMessage   string            `json:"statusMessage" desc:"what is shown while it runs"`
}

// EventLog is the log of every event of a session.
type EventLog struct {
	Enabled    bool   `json:"enabled" desc:"write the log"`
	File       string `json:"file" desc:"where, instead of beside the transcript"`
	SlowCallMs int    `json:"slowCallMs" desc:"note calls that take longer, in milliseconds" default:"10000" min:"0"`
}

// Webhook forwards events.
type Webhook struct {
	URL     string            `json:"url" desc:"where events are sent"`
	Headers map[string]string `json:"headers" desc:"headers of the request"`
	Events  []string          `json:"events" desc:"which events; empty for all"`
}

// Model describes a model. Prices are dollars for a million tokens.
type Model struct {
	Provider        string  `json:"provider" desc:"which wire format it speaks" enum:"anthropic|openai|openai-responses|gemini|bedrock|vertex"`
	BaseURL         string  `json:"baseUrl" desc:"the address of its server"`
	APIKeyEnv       string  `json:"apiKeyEnv" desc:"the variable that holds its key"`
	ID              string  `json:"id" desc:"its name at the server, when it differs"`
	Family          string  `json:"family" desc:"the alias it answers to, such as sonnet"`
	Window          int     `json:"window" desc:"how many tokens it reads" min:"1"`
	MaxOutput       int     `json:"maxOutput" desc:"how many tokens it writes" min:"1"`
	InputPrice      float64 `json:"inputPrice" desc:"price of input" min:"0"`
	OutputPrice     float64 `json:"outputPrice" desc:"price of output" min:"0"`
	CacheReadPrice  float64 `json:"cacheReadPrice" desc:"price of cached input" min:"0"`
	CacheWritePrice float64 `json:"cacheWritePrice" desc:"price of writing the cache" min:"0"`
	Thinking        *bool   `json:"thinking" desc:"whether it can think"`
	Images          *bool   `json:"images" desc:"whether it sees images"`
	Caching         *bool   `json:"caching" desc:"whether prompts can be cached"`
	Tools           *bool   `json:"tools" desc:"whether it calls tools"`
}

// Attribution is what commits and pull requests say of gofer. A nil text is gofer's own; an empty one is none.
type Attribution struct {
	Commit *string `json:"commit" desc:"the end of commit messages; empty for none"`
	PR     *string `json:"pr" desc:"the end of pull requests; empty for none"`
}

// FileHistory limits what is kept of changed files.
type FileHistory struct {
	MaxSnapshots int `json:"maxSnapshots" desc:"snapshots of a session" default:"100" min:"1"`
	MaxFileMB    int `json:"maxFileMB" desc:"larger files are not kept, in megabytes" default:"64" min:"1"`
	MaxTotalMB   int `json:"maxTotalMB" desc:"all sessions together, in megabytes" default:"1024" min:"1"`
	MaxAgeDays   int `json:"maxAgeDays" desc:"older versions are removed" default:"30" min:"1"`
}

// Agents limits sub-agents. Zero is no limit of its own.
type Agents struct {
	MaxParallel      int     `json:"maxParallel" desc:"how many run at once; the others wait" default:"10" min:"1"`
	MaxDepth         int     `json:"maxDepth" desc:"how deep agents may start agents" default:"3" min:"1"`
	MaxTokens        int     `json:"maxTokens" desc:"tokens that one agent may use" min:"0"`
	MaxTreeTokens    int     `json:"maxTreeTokens" desc:"tokens that an agent and all below it may use" min:"0"`
	MaxBudgetUSD     float64 `json:"maxBudgetUsd" desc:"dollars that one agent may spend" min:"0"`
	MaxTreeBudgetUSD float64 `json:"maxTreeBudgetUsd" desc:"dollars that an agent and all below it may spend" min:"0"`
	Forking          bool    `json:"forking" desc:"an agent without a type continues the conversation of its parent"`
}

// Worktree says how worktrees are made.
type Worktree struct {
	BaseRef            string   `json:"baseRef" desc:"start from the remote's main branch (fresh) or from HEAD (head)" enum:"fresh|head" default:"head"`
	SparsePaths        []string `json:"sparsePaths" desc:"check out only these folders"`
	SymlinkDirectories []string `json:"symlinkDirectories" desc:"folders to link from the main tree, such as node_modules"`
	BgIsolation        string   `json:"bgIsolation" desc:"where background sessions edit" enum:"worktree|none" default:"none"`
}

// An MCPServer is how a server is reached.
type MCPServer struct {
	Type          string            `json:"type" desc:"how it is reached" enum:"stdio|http|streamable-http|sse|ws|sse-ide|ws-ide|sdk"`
	Command       string            `json:"command" desc:"stdio: the program"`
	Args          []string          `json:"args" desc:"stdio: its arguments"`
	Env           map[string]string `json:"env" desc:"stdio: its environment"`
	Cwd           string            `json:"cwd" desc:"stdio: its folder"`
	URL           string            `json:"url" desc:"the others: the address"`
	Headers       map[string]string `json:"headers" desc:"the others: headers"`
	HeadersHelper string            `json:"headersHelper" desc:"a command that prints headers as JSON"`
	OAuth         json.RawMessage   `json:"oauth" desc:"log-in: clientId, callbackPort, authServerMetadataUrl"`
	Timeout       int               `json:"timeout" desc:"milliseconds that a call may take" min:"1"`
	AlwaysLoad    bool              `json:"alwaysLoad" desc:"never defer its tools"`

	Origin Origin `json:"-"`
}

// An MCPMatch names servers by one of its fields.
type MCPMatch struct {
	ServerName    string   `json:"serverName" desc:"by name"`
	ServerCommand []string `json:"serverCommand" desc:"by exact command"`
	ServerURL     string   `json:"serverUrl" desc:"by address; * is a wildcard"`
}

// A Marketplace is where plugins come from.
type Marketplace struct {
	Source          json.RawMessage `json:"source" desc:"where it is: {source: github|git|url|npm|file|directory, …}" needs:"yes"`
	InstallLocation string          `json:"installLocation" desc:"where its copy is kept"`
	AutoUpdate      bool            `json:"autoUpdate" desc:"update it at start"`
	LastUpdated     string          `json:"lastUpdated" desc:"when it was last updated"`

	Origin Origin `json:"-"`
}

// An LSPServer is a language server.
type LSPServer struct {
	Command               string            `json:"command" desc:"the program" needs:"yes"`
	Args                  []string          `json:"args" desc:"its arguments"`
	Env                   map[string]string `json:"env" desc:"its environment"`
	ExtensionToLanguage   map[string]string `json:"extensionToLanguage" desc:"which files it is for: language by extension"`
	InitializationOptions json.RawMessage   `json:"initializationOptions" desc:"what it is told at start"`
	Settings              json.RawMessage   `json:"settings" desc:"its settings"`

	Origin Origin `json:"-"`
}

// WebSearch is a search service.
type WebSearch struct {
	Endpoint  string `json:"endpoint" desc:"its address; {query} is replaced"`
	APIKeyEnv string `json:"apiKeyEnv" desc:"the variable that holds its key"`
}

// WebFetch says what WebFetch may reach.
type WebFetch struct {
	AllowedPrivateHosts []string `json:"allowedPrivateHosts" desc:"hosts on private or loopback addresses that may be fetched" trust:"rules" list:"widen"`
}

// A ShellCommand is something to run.
type ShellCommand struct {
	Type    string `json:"type" desc:"command" enum:"command" needs:"yes"`
	Command string `json:"command" desc:"what runs" needs:"yes"`
}

// A StatusLine is a command that prints the status line.
type StatusLine struct {
	Type            string  `json:"type" desc:"command" enum:"command" needs:"yes"`
	Command         string  `json:"command" desc:"what runs" needs:"yes"`
	Padding         float64 `json:"padding" desc:"spaces beside it"`
	RefreshInterval int     `json:"refreshInterval" desc:"seconds after which it runs again by itself" min:"1"`
	HideVim         bool    `json:"hideVimModeIndicator" desc:"do not show the vim mode beside it"`
}

// SpinnerVerbs are words that the spinner shows.
type SpinnerVerbs struct {
	Mode  string   `json:"mode" desc:"add them, or use only them" enum:"append|replace" default:"append"`
	Verbs []string `json:"verbs" desc:"the words"`
}

// A StringList is a list of texts that may also be written as one text with commas.
type StringList []string

// Enabled is true, false, or the versions of a plugin that are wanted.
type Enabled struct {
	On       bool
	Versions []string
}

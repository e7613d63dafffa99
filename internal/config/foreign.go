package config

import (
	"slices"
	"strings"
)

// foreignKeys are documented keys of Claude Code for things that gofer does not have. They are no mistakes, so lint only
// notes them.
const foreignKeys = "advisorModel agentPushNotifEnabled allowAllClaudeAiMcps allowedChannelPlugins autoScrollEnabled autoUpdates " +
	"autoUpdatesChannel awaySummaryEnabled channelsEnabled customApiKeyResponses defaultShell disableAgentView disableArtifact " +
	"disableClaudeAiConnectors disableDeepLinkRegistration disableRemoteControl disableWorkflows fastModePerSessionOptIn " +
	"feedbackSurveyRate footerLinksRegexes forceLoginMethod forceLoginOrgUUID forceRemoteSettingsRefresh inputNeededNotifEnabled " +
	"managedMcpServers minimumVersion parentSettingsBehavior pluginSuggestionMarketplaces pluginTrustMessage policyHelper prUrlTemplate " +
	"remoteControlAtStartup requiredMaximumVersion requiredMinimumVersion respondToBashCommands showClearContextOnPlanAccept " +
	"showThinkingSummaries skillListingBudgetFraction skillListingMaxDescChars skipAutoPermissionPrompt skippedMarketplaces skippedPlugins " +
	"skipWebFetchPreflight spinnerTipsOverride sshConfigs sshHostAllowlist strictPluginOnlyCustomization tui voice voiceEnabled " +
	"wheelScrollAccelerationEnabled wslInheritsWindowsSettings " +
	"sandbox.allowAppleEvents sandbox.credentials sandbox.enabledPlatforms sandbox.enableWeakerNetworkIsolation sandbox.ignoreViolations " +
	"sandbox.ripgrep sandbox.socatPath sandbox.network.allowMachLookup autoMode.classifyAllShell attribution.sessionUrl"

func isForeign(key string) bool { return slices.Contains(strings.Fields(foreignKeys), key) }

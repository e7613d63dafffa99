package main

import "fmt"

// peers are the programs that a user would pick instead. Each keeps to itself: telemetry, updates and whatever else goes to
// other hosts are off by its own documented settings, and its tools may run without asking.
func peers() []*subject {
	return []*subject{claude(), codex(), opencode(), gemini()}
}

func claude() *subject {
	return &subject{
		name: "claude", program: "claude",
		env: func(s *stage) []string {
			return []string{"ANTHROPIC_BASE_URL=" + s.url, "ANTHROPIC_API_KEY=bench", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1",
				"DISABLE_TELEMETRY=1", "DISABLE_ERROR_REPORTING=1", "DISABLE_AUTOUPDATER=1"}
		},
		args: func(_ *stage, prompt string) []string {
			return []string{"-p", prompt, "--allowedTools", "Bash,Read"}
		},
		bash: func(command string) call { return call{"Bash", map[string]any{"command": command}} },
		read: func(path string) call { return call{"Read", map[string]any{"file_path": path}} },
	}
}

func codex() *subject {
	return &subject{
		name: "codex", program: "codex",
		setUp: func(s *stage) error {
			return s.write("home/.codex/config.toml", fmt.Sprintf(`model = "gpt-5-codex"
model_provider = "bench"
check_for_update_on_startup = false
[analytics]
enabled = false
[model_providers.bench]
name = "bench"
base_url = "%s/v1"
env_key = "BENCH_API_KEY"
wire_api = "responses"
`, s.url))
		},
		env: func(s *stage) []string { return []string{"BENCH_API_KEY=bench"} },
		args: func(_ *stage, prompt string) []string {
			return []string{"exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", prompt}
		},
		bash: func(command string) call { return call{"exec_command", map[string]any{"cmd": command}} },
	}
}

func opencode() *subject {
	return &subject{
		name: "opencode", program: "opencode",
		setUp: func(s *stage) error {
			// The name of the model makes it mark the prompt for the cache.
			return s.write("home/.config/opencode/opencode.json", fmt.Sprintf(`{"autoupdate": false, "share": "disabled",
"model": "bench/claude-scripted", "small_model": "bench/claude-scripted", "permission": "allow",
"provider": {"bench": {"npm": "@ai-sdk/anthropic", "name": "bench", "options": {"baseURL": "%s/v1", "apiKey": "bench"},
  "models": {"claude-scripted": {"name": "scripted", "tool_call": true, "limit": {"context": 200000, "output": 32000}}}}}}`, s.url))
		},
		env: func(s *stage) []string {
			return []string{"OPENCODE_DISABLE_AUTOUPDATE=1", "OPENCODE_DISABLE_MODELS_FETCH=1", "OPENCODE_DISABLE_LSP_DOWNLOAD=1",
				"OPENCODE_DISABLE_DEFAULT_PLUGINS=1", "OPENCODE_DISABLE_SHARE=1"}
		},
		args: func(_ *stage, prompt string) []string { return []string{"run", prompt} },
		bash: func(command string) call {
			return call{"bash", map[string]any{"command": command, "description": "Runs it"}}
		},
		read: func(path string) call { return call{"read", map[string]any{"filePath": path}} },
	}
}

func gemini() *subject {
	return &subject{
		name: "gemini", program: "gemini",
		setUp: func(s *stage) error {
			return s.write("home/.gemini/settings.json", `{"security": {"auth": {"selectedType": "gemini-api-key"}},
"privacy": {"usageStatisticsEnabled": false}, "telemetry": {"enabled": false}, "general": {"enableAutoUpdate": false, "enableAutoUpdateNotification": false}}`)
		},
		env: func(s *stage) []string {
			return []string{"GEMINI_API_KEY=bench", "GOOGLE_GEMINI_BASE_URL=" + s.url}
		},
		args: func(_ *stage, prompt string) []string {
			return []string{"-p", prompt, "--approval-mode", "yolo", "--skip-trust", "-m", "gemini-2.5-flash"}
		},
		bash: func(command string) call { return call{"run_shell_command", map[string]any{"command": command}} },
		read: func(path string) call { return call{"read_file", map[string]any{"file_path": path}} },
	}
}

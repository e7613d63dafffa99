package shell

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
)

// launch is all that is needed to run one command in PowerShell.
type launch struct {
	argv  []string
	env   []string
	extra []*os.File
	note  string // the file in which the shell says where it was at its end
}

// windowsScript runs the command that is in the environment and leaves the folder behind, also when the command ends with exit.
const windowsScript = `$ErrorActionPreference='Continue'; $c=$env:GOFER_COMMAND; Remove-Item Env:GOFER_COMMAND; ` +
	`[Console]::OutputEncoding=[Text.Encoding]::UTF8; $global:LASTEXITCODE=0; ` +
	`try { Invoke-Expression $c; $ok=$? } finally { [IO.File]::WriteAllText($env:GOFER_CWD, (Get-Location).ProviderPath) }; ` +
	`if ($LASTEXITCODE) { exit $LASTEXITCODE }; if (-not $ok) { exit 1 }`

// most is what Windows takes in one variable.
const most = 32_000

func (b *bash) launch(ctx context.Context, command string) (*launch, error) {
	if len(command) > most {
		return nil, errors.New("the command is too long for PowerShell; write it to a .ps1 file first and run that")
	}
	shell, err := exec.LookPath("pwsh.exe")
	if err != nil {
		if shell, err = exec.LookPath("powershell.exe"); err != nil {
			return nil, errors.New("there is no PowerShell on this machine, so no command can be run")
		}
	}
	f, err := os.CreateTemp("", "gofer-cwd-*")
	if err != nil {
		return nil, err
	}
	f.Close()
	env := append(append([]string(nil), b.environ()...), "CLAUDECODE=1", "GOFER=1", "GIT_EDITOR=true", "PAGER=cat", "GIT_PAGER=cat", "GIT_TERMINAL_PROMPT=0")
	if b.EnvExtra != nil {
		env = append(env, b.EnvExtra()...)
	}
	env = append(env, "GOFER_COMMAND="+command, "GOFER_CWD="+f.Name())
	return &launch{
		argv: []string{shell, "-NoLogo", "-NoProfile", "-NonInteractive", "-Command", windowsScript},
		env:  env, note: f.Name(),
	}, nil
}

func (l *launch) started() {}

// endDir returns where the shell was at its end.
func (l *launch) endDir() string {
	raw, err := os.ReadFile(l.note)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(raw))
}

func (l *launch) close() { os.Remove(l.note) }

package guard

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestHostileCommandsAreDecidedQuickly: no command, however it is made, keeps the gate busy or passes a rule that denies.
func TestHostileCommandsAreDecidedQuickly(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := realPolicy(t, dir, Bypass, "deny Bash(rm:*)", "deny Read(.env)", "deny Edit(*.key)", "deny Read(**/a/**/b/**/c*d*e*)")
	bomb := ""
	for i := range 30 {
		bomb += fmt.Sprintf("f%d() { f%d; f%d; }; ", i, i+1, i+1)
	}
	for name, command := range map[string]string{
		"many commands":   strings.Repeat("a;", 10_000) + "rm x",
		"long chain":      strings.Repeat("a && ", 3_000) + "rm x",
		"long pipe":       strings.Repeat("a|", 4_000) + "rm x",
		"brackets":        strings.Repeat("(", 60_000) + "rm x" + strings.Repeat(")", 60_000),
		"substitutions":   strings.Repeat("$(", 30_000) + "rm x" + strings.Repeat(")", 30_000),
		"loops":           strings.Repeat("for i in a;do ", 1_000) + "rm x" + strings.Repeat(";done", 1_000),
		"ifs":             strings.Repeat("if a;then ", 1_000) + "rm x" + strings.Repeat(";fi", 1_000),
		"backticks":       strings.Repeat("`", 60_000) + "rm x",
		"functions":       bomb + "f30() { rm x; }; f0",
		"braces":          "rm {1..99999}{1..99999}",
		"variables":       "for a in " + strings.Repeat("x ", 20_000) + "; do for b in y z; do rm $a$b; done; done",
		"globs":           "cat " + strings.Repeat("* ", 3_000) + "; rm x",
		"stars":           "cat " + strings.Repeat("*a", 2_000) + "; rm x",
		"arguments":       "w " + strings.Repeat("a ", 30_000) + "; rm x",
		"folders":         strings.Repeat("grep -r x .;", 3_000) + "rm x",
		"evals":           strings.Repeat("eval ", 200) + "rm x",
		"here-document":   "cat <<X\n" + strings.Repeat("$(true) ", 10_000) + "\nX\nrm x",
		"arithmetic":      "echo $((" + strings.Repeat("1+", 5_000) + "1)); rm x",
		"control bytes":   "ls \x00\x01\x02\x03; rm x",
		"long path":       "cat " + strings.Repeat("a/", 10_000) + ".env",
		"wrappers":        strings.Repeat("env ", 20_000) + "rm x",
		"too long":        strings.Repeat("a", 200_000),
		"not UTF-8":       "rm \xff\xfe x",
		"assignments":     strings.Repeat("a=b ", 20_000) + "rm x",
		"redirections":    "rm x " + strings.Repeat(">a ", 20_000),
		"dirs":            strings.Repeat("cd a; ", 5_000) + "rm x",
		"case":            "case x in " + strings.Repeat("a) b;; ", 8_000) + "c) rm x;; esac",
		"find":            "find . " + strings.Repeat("-exec a {} + ", 6_000) + "-exec rm {} +",
		"open quote":      "rm x; '" + strings.Repeat("a", 1000),
		"unknown dirs":    "cd $x; rm y; cat .env",
		"variable bomb":   strings.Repeat("a=$a$a;", 15_000) + "rm $a",
		"sed":             "sed -n '" + strings.Repeat("s/a/b/;", 10_000) + "' x; rm x",
		"mentions":        "python3 -c '" + strings.Repeat("a b c d ", 10_000) + "open(\".env\")'; rm x",
		"escaped newline": strings.Repeat("\\\n", 40_000) + "rm x",
	} {
		began := time.Now()
		d := Decide(p, shellFacts(command))
		took := time.Since(began)
		if took > 5*time.Second {
			t.Errorf("%s: took %v", name, took)
		}
		if d.Behavior == Allow {
			t.Errorf("%s: is allowed (%s)", name, d.Reason)
		}
	}
}

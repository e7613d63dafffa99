//go:build !unix

package transcript_test

func children() map[string]func() { return nil }

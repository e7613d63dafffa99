//go:build !unix

package agents_test

func makePipe(string) int { return 0 }

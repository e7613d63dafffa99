package script

// TB is what Serve needs of a test. (The package is part of the program and so does not import testing.)
type TB interface {
	Helper()
	Cleanup(func())
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// Serve starts a server that plays src and stops it when the test ends. The test fails if a request was refused as invalid
// or had no turn, unless the option AllowInvalid is given.
func Serve(t TB, src string, options ...Option) *Server {
	t.Helper()
	s, err := Parse("script", []byte(src))
	if err != nil {
		t.Fatalf("%v", err)
	}
	server := NewServer(s, options...)
	if _, err := server.Start(); err != nil {
		t.Fatalf("%v", err)
	}
	t.Cleanup(func() {
		server.Close()
		if server.allowInvalid {
			return
		}
		for i, r := range server.Requests() {
			if r.Invalid {
				t.Errorf("request %d was refused: %d %s", i+1, r.Status, r.Refused)
			}
		}
	})
	return server
}

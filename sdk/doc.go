// Package sdk puts gofer into your program: the agent loop, its tools and its gate run in your process, without a child process and without a
// protocol between them that you would have to know.
//
// For one question there is Query, which yields messages until the result:
//
//	for m, err := range sdk.Query(ctx, "Why does the test fail?", sdk.Options{Dir: "/my/project"}) {
//		if err != nil {
//			return err
//		}
//		if r, ok := m.(*sdk.Result); ok {
//			fmt.Println(r.Text)
//		}
//	}
//
// QueryFor does the same and returns a Go value, whose schema the answer must fit. For a conversation there is Client, to which you send prompts and
// from which you receive messages; it can be interrupted, change its model and its permission mode, and rewind files.
//
// Your own functions are tools (NewTool), hooks (Options.Hooks), and the answer to what no permission rule decides (Options.CanUseTool). Sessions are
// the same ones that the command line has: what was begun here goes on there with gofer --resume, and the other way round.
//
// Promises: nothing is global, so that several clients run side by side with other folders, homes and keys. Messages come in the order in which they
// were said, and none is lost; those that were not received yet wait in memory. When Close has returned, no goroutine and no process is left.
// A function of yours that gofer calls gets a context that ends when its answer is of no use any more.
package sdk

//go:build unix

package proc

// Gone waits until the supervisor of a closed Runner has left, which takes a few milliseconds. A program that goes on after Close may want to
// know that nothing is left; one that ends need not wait.
func (r *Runner) Gone() {
	r.mu.Lock()
	l := r.back.link
	r.mu.Unlock()
	if l != nil {
		<-l.gone
	}
}

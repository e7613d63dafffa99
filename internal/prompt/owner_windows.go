package prompt

import "io/fs"

// trustedOwner trusts the file system's permissions: folders above a project are not open to everybody here.
func trustedOwner(file, project fs.FileInfo) bool { return true }

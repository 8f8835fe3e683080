// Names what scripts/tools.py builds here, so that Go pins all that it needs in go.mod and go.sum.

//go:build engines

package engines

import _ "go.etcd.io/etcd/server/v3"

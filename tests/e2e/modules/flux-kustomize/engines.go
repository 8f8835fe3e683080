// Names what scripts/tools.py builds here, so that Go pins all that it needs in go.mod and go.sum.

//go:build engines

package engines

import _ "github.com/fluxcd/kustomize-controller"

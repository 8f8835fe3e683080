// Names what scripts/tools.py builds here, so that Go pins all that it needs in go.mod and go.sum.

//go:build engines

package engines

import (
	_ "k8s.io/kubernetes/cmd/kube-apiserver"
	_ "k8s.io/kubernetes/cmd/kube-controller-manager"
	_ "k8s.io/kubernetes/cmd/kubectl"
)

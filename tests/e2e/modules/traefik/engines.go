// Names what scripts/tools.py builds here, so that Go pins all that it needs in go.mod and go.sum.

//go:build engines

package engines

import _ "github.com/traefik/traefik/v3/cmd/traefik"

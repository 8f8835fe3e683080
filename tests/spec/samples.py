"""Documents that tests start from."""

HANDLER = """\
apiVersion: gati.dev/v1alpha1
kind: GatiHandler
metadata:
  name: user-handler
spec:
  handlerPath: /api/users
  version: v1.0.0
  replicas: 3
  image: registry.example.com/users:1.0.0
  port: 3000
"""
PROJECT = """\
apiVersion: gati.dev/v1alpha1
kind: GatiProject
metadata:
  name: shop
spec:
  environments:
    staging:
      clusters:
        staging-1: {}
    prod:
      clusters:
        eu-1: {}
        us-1: {}
"""
PARTIAL = """\
kind: GatiHandler
metadata:
  name: user-handler
spec:
  replicas: 5
"""

"""Real Git servers on loopback: git's http-backend behind nginx, sshd, and a proxy that does harm."""

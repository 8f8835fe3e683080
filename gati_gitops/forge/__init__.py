"""Pull requests on GitHub, GitLab and Gitea or Forgejo, behind one protocol."""

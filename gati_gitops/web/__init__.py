"""HTTP for whoever asks others: connections, secrets that are not shown, answers within bounds."""

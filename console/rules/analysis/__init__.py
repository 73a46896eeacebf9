"""What the analyses' tables say in words: each question answered by sentences that lead to what they name. Pure."""

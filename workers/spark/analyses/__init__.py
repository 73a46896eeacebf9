"""What the samples say: each module answers one question. Pure frames in, frames out; expressions and windows only."""

"""Is there any signal at all: permutation tests without refits."""

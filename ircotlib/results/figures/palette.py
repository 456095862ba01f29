"""The colours of figures, each under a name; those of systems are in their records."""

BLUE, ORANGE, GREEN, PLUM = "#3b6fb6", "#e08e45", "#5d9b84", "#a63d57"
GREY, SLATE, PALE = "#9aa5b1", "#6b7785", "#d5dbe2"  # what is in the background
BRICK, SAND, INDIGO, SAGE, LILAC = "#b0413e", "#c9b458", "#5a6fa8", "#7fb08a", "#c9a6c9"
PEACH, SKY, FOREST = "#e9b48a", "#a9c1e0", "#2f7d4f"  # nodes that got feedback, the correct path

CAUSES = (GREY, PLUM, ORANGE, SAND, INDIGO, SAGE, LILAC)  # of wrong answers, in their order
BACKENDS = {"embedded": BLUE, "Elasticsearch": ORANGE, "bm25s": GREY}

"""How the figures of foldless were measured. A distribution of its own, which uses foldless as a user would.

    accuracy/    how far off are the estimates? (`foldless benchmark accuracy`)
    speed/       what does an answer cost? (`foldless benchmark speed`)
    paper/       every table and figure of the paper again (`foldless reproduce`)
    evidence/    one page of `results/` each: comparisons, search, planning, several classes, memory, GPU, ...
    tools/       the check of the packages, the transcript of the command line

What they share: a `Cell` draws samples with a known truth (`sampling`, `populations`, `data`), an estimator turns a
fitted classifier into an `Answer` (`classifiers`, `estimators`), a run does the tasks and keeps every result (`runs`,
`store`), and `pages` writes Markdown, HTML and CSV.
"""

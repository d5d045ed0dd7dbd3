"""Checks of data and fit: each looks at one thing and returns a `Finding`, or None where there is nothing to say.

finding    what a check returns
answer     the posterior that users get, with the notes of the cheap checks
quick      one look at the table, for every answer
scores     the honest scores: normality, unequal spread, outliers, few rows     (cheap: results can carry it)
fit        the training: steps that saw y, early stops, stand-ins, the prior    (cheap)
columns    the columns one by one: heavy tails, columns chosen with y, more of them than rows
leak       a column that knows the label
copies     rows that repeat other rows, exactly or nearly
order      rows that resemble their neighbours in the file
sketch     a few random projections of all rows, which copies, order and spread look at
"""

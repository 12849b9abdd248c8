"""Groups of vectors and texts: fitted to a sample, named, recognised as data grow, and laid out on a map.

Read three files to know how groups come about: `pipeline` (sample, neighbours, groups of the sample, vote of the
nearest on all others), `fitting` (how many groups there are, and which), `communities` (the graph of neighbours, its
communities, and their merging). `model_updates` keeps the ids of groups as data grow, `naming` and `phrases` name them.
"""

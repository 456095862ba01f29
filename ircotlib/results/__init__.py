"""Results of runs: tables of scores and costs, tests, causes of errors and figures."""

"""A whole cluster in balance: goals in their order of priority, and the fewest bytes copied that reach them. Pure.

`model` says what is known and wanted, `arrangement` is who has what while a plan is made, `bounds` what each broker may carry,
`needs` what has to go in any case, `flow` how much of what kind leaves and reaches each broker (a linear program), `matching` which
replicas these are, `polish` mends what rounding left and takes back what need not move, `leaders` who is preferred, `balancing` all of it.
"""

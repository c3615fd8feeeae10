module fairlead/bench/ceiling

go 1.24

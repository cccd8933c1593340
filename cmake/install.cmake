# install rules and the bundle target

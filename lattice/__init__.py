"""Exact integer linear algebra on quasi-affine forms: Smith, LLL, exact LP, loop bounds, points."""

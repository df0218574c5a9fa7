"""What the sampler shop sells, judged"""

SUITE = [
    {"scheme": "shop-heun", "checks": ["local-order", "stationary-bias", "shop-centre"]},
    {"scheme": "shop-heun", "settings": {"target.name": "shop-bowl"}, "checks": ["stationary-bias"]},
    {"scheme": "shop-momentum", "checks": ["local-order"]},
]

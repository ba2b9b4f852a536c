"""No address that leads anywhere but to the public internet passes (RFC 6890)."""

import pytest

from rememberd.auth.public_addresses import is_public

PUBLIC = ["8.8.8.8", "1.1.1.1", "2606:4700:4700::1111", "2a00:1450:4001:81b::200e"]
CARRYING_PUBLIC = ["::ffff:8.8.8.8", "64:ff9b::808:808", "2002:808:808::1"]

NOT_PUBLIC = {
    "this host": ["0.0.0.0", "0.1.2.3", "::"],
    "loopback": ["127.0.0.1", "127.8.8.8", "::1"],
    "private use": ["10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1"],
    "shared by carriers": ["100.64.0.1", "100.127.255.255"],
    "link-local": ["169.254.169.254", "fe80::1", "fe80::1%eth0"],
    "unique local": ["fc00::1", "fd00:ec2::254", "fec0::1"],
    "documentation": ["192.0.2.1", "198.51.100.1", "203.0.113.1", "2001:db8::1", "3fff::1"],
    "benchmarking": ["198.18.0.1", "198.19.255.255", "2001:2::1"],
    "multicast": ["224.0.0.1", "239.255.255.255", "ff02::1", "ff0e::1"],
    "reserved": ["240.0.0.1", "255.255.255.255", "4000::1", "5f00::1", "2001:20::1", "100::1"],
    "IPv4-mapped": ["::ffff:10.0.0.1", "::ffff:7f00:1", "::ffff:169.254.169.254"],
    "IPv4-compatible": ["::10.0.0.1", "::8.8.8.8"],
    "NAT64": ["64:ff9b::a00:1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::808:808", "64:ff9b:1::a00:1"],
    "6to4": ["2002:a00:1::", "2002:7f00:1::1", "2002:a9fe:a9fe::"],
    "Teredo": ["2001:0:4136:e378:8000:63bf:f5ff:fffe", "2001:0:a00:1:8000:63bf:f7f7:f7f7"],
    "no address": ["", "localhost", "8.8.8.8.8", "2130706433", "0x7f.1", "8.8.8", "[::1]"],
}


@pytest.mark.parametrize("address", PUBLIC + CARRYING_PUBLIC)
def test_a_public_address_passes(address: str) -> None:
    assert is_public(address)


@pytest.mark.threat(number=14)
@pytest.mark.parametrize(
    "address",
    [pytest.param(one, id=f"{kind}: {one}") for kind in NOT_PUBLIC for one in NOT_PUBLIC[kind]],
)
def test_anything_else_does_not(address: str) -> None:
    assert not is_public(address)

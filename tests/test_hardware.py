"""Devices and their peaks."""

import pytest

from bench.vocabulary.hardware import (
    Device,
    device_of,
    device_pattern,
    devices,
    one_spelling,
    peak_tflops,
)


@pytest.mark.parametrize(
    ("text", "dtype", "peak"),
    [
        ("A64FX", "fp32", 6.144),
        ("A64FX", "fp16", 12.288),
        ("A64FX 2.2GHz", "fp32", 6.758),
        ("A64FX (2.2 GHz)", "fp16", 13.517),
        ("V100-32GB", "fp16", 125.0),
        ("NVIDIA A100-SXM4-80GB", "bf16", 312.0),
        ("A100-80GB", "fp32", 19.5),
        ("H100", "bf16", 989.4),
        ("H100 PCIe", "bf16", 756.0),
        ("H100-SXM", "bf16", 989.4),
        ("NVIDIA H200", "bf16", 989.0),
        ("GB200", "bf16", 2500.0),
        ("B200", "bf16", 2250.0),
        ("AMD MI250X", "bf16", 383.0),
        ("MI300X", "fp32", 163.4),
        ("TPU v4", "bf16", 275.0),
        ("TPUv5p", "bf16", 459.0),
        ("v5p-2048", "bf16", 459.0),
        ("16x v5e-256", "bf16", 197.0),
        ("Trillium (v6e)", "bf16", 918.0),
    ],
)
def test_dense_peaks(text: str, dtype: str, peak: float) -> None:
    assert peak_tflops(text, dtype) == peak


@pytest.mark.parametrize(
    ("text", "dtype"),
    [("GTX 1080", "fp32"), ("", "fp16"), ("V100", "bf16"), ("TPU v4", "fp32"), ("B300", "bf16"),
     ("Ascend 910B", "bf16"), ("XB200", "bf16"), ("A100", "fp12")],
)  # fmt: skip
def test_without_a_known_peak_there_is_no_mfu(text: str, dtype: str) -> None:
    assert peak_tflops(text, dtype) is None


def test_every_device_is_found_by_its_own_name_and_has_a_source() -> None:
    names = [device.name for device in devices()]
    assert len(set(names)) == len(names)
    for device in devices():
        assert device.source
        assert all(peak > 0 for peak in device.peak.values())
        named = device_of(device.name.replace("TPUv", "TPU v").replace("-PCIe", " PCIe"))
        assert named is not None and named.family == device.family
        assert set(device.peak) <= {"fp64", "fp32", "tf32", "fp16", "bf16", "fp8", "fp4"}


def test_sparse_peaks_of_data_sheets_are_in_no_table() -> None:
    of = [(name, peak) for device in devices() for name, peak in device.peak.items()]
    assert not {peak for name, peak in of if name != "fp8"} & {
        624.0,
        1979.0,
        1513.0,
        4500.0,
        5000.0,
    }
    assert not {peak for name, peak in of if name == "fp8"} & {
        1466.0,
        3026.0,
        3958.0,
        9000.0,
        10000.0,
    }


@pytest.mark.parametrize("device", devices(), ids=lambda device: device.name)
def test_narrow_formats_are_as_much_faster_as_they_are_narrower(device: Device) -> None:
    wide = device.peak.get("bf16", 0.0)
    assert device.peak.get("fp8", 2 * wide) == pytest.approx(2 * wide, rel=0.02) or (
        device.name == "Gaudi 3"  # its data sheet gives one figure for both
    )
    assert device.peak.get("fp4", 4 * wide) == pytest.approx(4 * wide, rel=0.02)


def test_a_device_in_running_text() -> None:
    found = device_pattern().search("on 48 nodes of 8 A100 80GB each")
    assert found is not None
    assert (found["device"], found["memory"]) == ("A100", "80")


@pytest.mark.parametrize(
    "name", ["4060 Ti", "3090 Ti", "RTX 3090 Ti", "RTX 2080 Ti", "RTX A6000", "A10G",
             "Trainium2", "trn1.32xlarge", "Max 1550", "RTX 5090"],
)  # fmt: skip
def test_a_device_without_a_known_peak_is_called_as_written(name: str) -> None:
    found = device_pattern().search(f"on 8 {name} GPUs")
    assert found is not None and found["device"] == name
    assert peak_tflops(name, "bf16") is None


@pytest.mark.parametrize(
    ("name", "spellings"),
    [
        (
            "A100-80GB",
            ["A100 80G", "nvidia_a100-sxm4-80gb", "A100-SXM4-80GB", "NVIDIA A100 (80 GB)"],
        ),
        ("A100-40GB", ["A100-40GB", "Tesla A100 40GB"]),
        ("A100", ["A100", "DGX A100"]),
        (
            "H100",
            ["H100", "NVIDIA H100 80GB HBM3", "NVIDIA H100-SXM5-80GB", "H100 80G", "HGX H100"],
        ),
        ("H100-PCIe", ["H100 PCIe", "NVIDIA H100-PCIe 80GB"]),
        ("H800", ["H800", "NVIDIA_H800", "H800-80GB"]),
        ("H200", ["H200", "NVIDIA H200 141GB HBM3e"]),
        ("MI250X", ["MI250X", "AMD Instinct MI250X"]),
        ("V100-32GB", ["V100-32GB", "Tesla V100-SXM2-32GB"]),
        ("A100-PCIe-40GB", ["A100-PCIE-40GB", "NVIDIA A100 PCIe 40GB"]),
        ("MI250X GCD", ["MI250X GCD"]),
        ("H100 at 500W", ["H100 at 500W"]),
        ("SX-9", ["SX-9"]),
    ],
)
def test_spellings_of_a_device_are_one(name: str, spellings: list[str]) -> None:
    assert [one_spelling(one) for one in spellings] == [name] * len(spellings)

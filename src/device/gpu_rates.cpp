#include <algorithm>
#include <array>

#include "trireme/device/gpu.hpp"

namespace trireme::device {
namespace {

struct DataSheet {
    const char* name;  // a substring of the driver's name of the GPU
    double bf16;       // peak rates of matmuls in each type, in 1e12 flops per second
    double f32;
    double f64;
};

// The first data sheet whose name matches is used, so longer names come first.
constexpr std::array<DataSheet, 11> data_sheets{
    DataSheet{"GH200", 989.5, 67, 67},       DataSheet{"H200", 989.5, 67, 67},
    DataSheet{"H100 PCIe", 756.5, 51, 51},   DataSheet{"H100 NVL", 835.5, 60, 60},
    DataSheet{"H100", 989.5, 67, 67},        DataSheet{"A100", 312, 19.5, 19.5},
    DataSheet{"A30", 165, 10.3, 10.3},       DataSheet{"RTX A6000", 154.8, 38.7, 0.6},
    DataSheet{"L40S", 362.1, 91.6, 1.4},     DataSheet{"RTX 3090", 71.2, 35.6, 0.56},
    DataSheet{"RTX 4090", 165.2, 82.6, 1.3},
};

double get_rate(const DataSheet& sheet, DType dtype) {
    if (dtype == DType::bf16) return sheet.bf16;
    return dtype == DType::f64 ? sheet.f64 : sheet.f32;
}

}  // namespace

std::optional<double> find_peak_flops_per_second(const std::string& gpu_name, DType dtype) {
    const auto names_gpu = [&](const DataSheet& sheet) {
        return gpu_name.find(sheet.name) != std::string::npos;
    };
    const auto* const sheet = std::ranges::find_if(data_sheets, names_gpu);
    if (sheet == data_sheets.end()) return std::nullopt;
    return get_rate(*sheet, dtype) * 1e12;
}

}  // namespace trireme::device

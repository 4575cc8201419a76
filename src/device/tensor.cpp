#include "trireme/device/tensor.hpp"

namespace trireme {

const char* name_of(DType dtype) {
    switch (dtype) {
        case DType::f32:
            return "f32";
        case DType::f64:
            return "f64";
        case DType::i32:
            return "i32";
        case DType::i64:
            return "i64";
        case DType::bf16:
            return "bf16";
    }
    throw BugError(cat("unknown element type ", static_cast<int>(dtype)));
}

}  // namespace trireme

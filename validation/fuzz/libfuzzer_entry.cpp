// Defines the function that libFuzzer calls. CMake names its target: TRIREME_FUZZ_TARGET=layout.
#include <cstddef>
#include <cstdint>

#include "fuzz/target.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    trireme::fuzz::TRIREME_FUZZ_TARGET({reinterpret_cast<const char*>(data), size});
    return 0;
}

// Parameters as named global tensors. Names, shapes and orientation are those of Hugging Face.
#pragma once

#include <string>
#include <vector>

#include "trireme/base/random.hpp"
#include "trireme/device/buffer.hpp"
#include "trireme/device/stream.hpp"
#include "trireme/layout/box.hpp"

namespace trireme::model {

enum class Init : std::uint8_t { normal, zeros, ones };

// A parameter and the part of it that this rank holds. Kernels see that part as a matrix. Files have the whole
// tensor's shape; its last axes are flattened into the columns, or its first axes into the rows.
struct ParameterSpec {
    std::string name;                     // "transformer.h.0.attn.c_attn.weight"
    std::vector<std::size_t> shape = {};  // Hugging Face's: (width, 3, patch, patch)
    std::size_t rows = 1;                 // on this rank; a vector is one row
    std::size_t columns = 0;              // on this rank
    std::size_t all_rows = 1;             // in the whole tensor
    std::size_t all_columns = 0;
    std::vector<layout::Placement> placements = {};  // the boxes of the whole tensor that this rank holds
    Init init = Init::normal;
    double deviation = 0;     // for Init::normal
    bool decays = false;      // weight decay applies; matrices only
    bool is_of_head = false;  // belongs to a task's head; keeps its initial values if a stored model lacks it

    std::size_t size() const { return rows * columns; }  // on this rank
    bool is_whole() const { return rows == all_rows && columns == all_columns; }
};

// Return the specs of whole tensors; part_of() cuts them.
ParameterSpec vector_spec(std::string name, std::size_t size, Init init);
ParameterSpec matrix_spec(std::string name, std::size_t rows, std::size_t columns, double deviation);

// One tensor per parameter, all in one buffer that starts as zeros. Used for values, gradients and optimizer
// moments.
class ParameterTensors {
public:
    ParameterTensors(const std::vector<ParameterSpec>& specs, device::DType dtype, device::MemorySpace place);

    const device::Tensor& operator[](std::size_t i) const { return tensors_[i]; }
    // Returns the whole buffer as one vector, including the gaps between tensors, which stay zero.
    device::Tensor all() const;
    std::size_t bytes() const { return buffer_.bytes(); }

private:
    device::Buffer buffer_;
    device::DType dtype_;
    std::vector<device::Tensor> tensors_;
};

// Fills `values` with random or constant initial values. They do not depend on the layout, and on the precision
// only by rounding.
void initialise(device::Stream& stream, const std::vector<ParameterSpec>& specs, const ParameterTensors& values,
                std::uint64_t seed);

}  // namespace trireme::model

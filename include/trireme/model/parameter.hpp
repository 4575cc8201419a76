// Parameters as named global tensors. Names, shapes and orientation are Hugging Face's for the same model.
#pragma once

#include <string>
#include <vector>

#include "trireme/base/random.hpp"
#include "trireme/device/buffer.hpp"
#include "trireme/device/stream.hpp"
#include "trireme/layout/box.hpp"

namespace trireme::model {

enum class Init : std::uint8_t { normal, zeros, ones };

// Kernels see a matrix, the part of the tensor that this rank holds; files see the whole tensor's shape, whose
// last axes are flattened into the columns or first into the rows.
struct ParameterSpec {
    std::string name;                     // "transformer.h.0.attn.c_attn.weight"
    std::vector<std::size_t> shape = {};  // Hugging Face's: (width, 3, patch, patch)
    std::size_t rows = 1;                 // of this rank; a vector is one row
    std::size_t columns = 0;              // of this rank
    std::size_t all_rows = 1;             // of the whole tensor
    std::size_t all_columns = 0;
    std::vector<layout::Placement> placements = {};  // the boxes of the whole tensor that this rank holds
    Init init = Init::normal;
    double deviation = 0;     // of Init::normal
    bool decays = false;      // weight decay applies: matrices only
    bool is_of_head = false;  // what a task puts on top: first values will do where a stored model has none

    std::size_t size() const { return rows * columns; }  // of this rank
    bool is_whole() const { return rows == all_rows && columns == all_columns; }
};

// Whole tensors: see part_of().
ParameterSpec vector_spec(std::string name, std::size_t size, Init init);
ParameterSpec matrix_spec(std::string name, std::size_t rows, std::size_t columns, double deviation);

// One tensor for each of a list of parameters, all in one buffer, zero at first. Serves for values, gradients
// and optimizer moments alike.
class ParameterTensors {
public:
    ParameterTensors(const std::vector<ParameterSpec>& specs, device::DType dtype, device::MemorySpace place);

    const device::Tensor& operator[](std::size_t i) const { return tensors_[i]; }
    device::Tensor all()
        const;  // the whole buffer as one vector, with the gaps between tensors, which stay zero
    std::size_t bytes() const { return buffer_.bytes(); }

private:
    device::Buffer buffer_;
    device::DType dtype_;
    std::vector<device::Tensor> tensors_;
};

// Random or constant first values; the same for every layout and precision, up to rounding.
void initialise(device::Stream& stream, const std::vector<ParameterSpec>& specs, const ParameterTensors& values,
                std::uint64_t seed);

}  // namespace trireme::model

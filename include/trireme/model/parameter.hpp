// Parameters: named tensors of the whole model. Each rank holds slices of them. Names, shapes and axis order
// are those of Hugging Face.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "trireme/base/random.hpp"
#include "trireme/device/buffer.hpp"
#include "trireme/device/stream.hpp"
#include "trireme/layout/box.hpp"

namespace trireme::model {

enum class Init : std::uint8_t { normal, zeros, ones };

// A parameter and the slice of it that this rank holds. Kernels see tensors with more than two axes as
// matrices: the last axes are flattened into the columns, or the first axes into the rows.
struct ParameterSpec {
    std::string name;                     // for example "transformer.h.0.attn.c_attn.weight"
    std::vector<std::size_t> shape = {};  // of the whole tensor in files, e.g. (width, 3, patch, patch)
    std::size_t rows = 1;                 // on this rank; a vector is one row
    std::size_t columns = 0;              // on this rank
    std::size_t all_rows = 1;             // in the whole tensor
    std::size_t all_columns = 0;          // in the whole tensor
    // The boxes of the whole tensor that this rank holds, and their positions in the rank's matrix (rows,
    // columns).
    std::vector<layout::Placement> placements = {};
    Init init = Init::normal;
    double deviation = 0;           // standard deviation, for Init::normal
    bool has_weight_decay = false;  // true only for matrices
    // True for parameters of a task's head. They keep their initial values if a stored model lacks them.
    bool belongs_to_head = false;
    bool is_tied = false;    // true for the token table if the head shares it with the embedding
    bool is_trained = true;  // false for a frozen parameter, which has no gradient and no optimizer state

    std::size_t size() const { return rows * columns; }  // elements on this rank
    bool is_whole() const { return rows == all_rows && columns == all_columns; }
};

// Return the spec of a whole tensor, for a rank that holds all its elements. cut_parameter() makes the spec of
// a tensor rank from the spec of the whole tensor. A matrix has weight decay and normally distributed initial
// values.
ParameterSpec make_vector_spec(std::string name, std::size_t size, Init init);
ParameterSpec make_matrix_spec(std::string name, std::size_t rows, std::size_t columns, double deviation);

// One tensor per parameter, in the order of the specs: this rank's slice of the parameter. All tensors are in
// one block of memory, which is filled with zeros at first. The tensors are values, gradients or optimizer
// moments.
class ParameterTensors {
public:
    ParameterTensors(const std::vector<ParameterSpec>& specs, device::DType dtype,
                     device::MemorySpace memory_space);
    // Places the tensors at the begin of `memory`, which is large enough and has their values.
    ParameterTensors(const std::vector<ParameterSpec>& specs, device::DType dtype, device::BufferPart memory);

    const device::Tensor& operator[](std::size_t i) const { return tensors_[i]; }
    operator std::span<const device::Tensor>() const { return tensors_; }
    // Returns the whole block as one vector, including the padding between tensors, which is zero.
    device::Tensor all() const;
    std::size_t bytes() const { return memory_.bytes; }

private:
    device::BufferPart memory_;
    device::DType dtype_;
    std::vector<device::Tensor> tensors_;
};

// Fills `values`, one tensor per spec, with random or constant initial values, rounded to the type of the
// tensor. Before rounding, an element's value depends only on `seed`, the parameter's name and the element's
// position in the whole tensor. The values are therefore equal for all layouts.
void initialize_parameters(device::Stream& stream, const std::vector<ParameterSpec>& specs,
                           std::span<const device::Tensor> values, std::uint64_t seed);

}  // namespace trireme::model

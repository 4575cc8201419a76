#include "trireme/model/parameter.hpp"

#include "trireme/base/numbers.hpp"
#include "trireme/kernels/fill.hpp"

namespace trireme::model {
namespace {

// Returns the bytes of a parameter's tensor in a buffer in which every tensor starts on a cache line.
std::size_t count_padded_bytes(const ParameterSpec& spec, device::DType dtype) {
    return round_up_to_cache_lines(spec.size() * byte_size(dtype));
}

std::size_t count_buffer_bytes(const std::vector<ParameterSpec>& specs, device::DType dtype) {
    std::size_t sum = 0;
    for (const ParameterSpec& spec : specs) sum += count_padded_bytes(spec, dtype);
    return sum;
}

// Writes random values to the boxes that this rank holds. `key` is the key of the whole tensor. The value of
// an element does not depend on the rank that holds it.
void fill_normal(device::Stream& stream, const ParameterSpec& spec, device::Tensor values, RandomKey key) {
    for (const layout::Placement& placement : spec.placements) {
        const layout::Box& box = placement.box;
        launch(stream,
               kernels::FillNormal{.output = values.row_range(placement.row, box.rows.count)
                                                 .column_range(placement.column, box.columns.count),
                                   .key = key,
                                   .deviation = spec.deviation,
                                   .first_element = box.rows.begin * spec.all_columns + box.columns.begin,
                                   .global_columns = spec.all_columns});
    }
}

}  // namespace

ParameterSpec make_vector_spec(std::string name, std::size_t size, Init init) {
    ParameterSpec spec = make_matrix_spec(std::move(name), 1, size, 0);
    spec.shape = {size};
    spec.init = init;
    spec.has_weight_decay = false;
    return spec;
}

ParameterSpec make_matrix_spec(std::string name, std::size_t rows, std::size_t columns, double deviation) {
    return {.name = std::move(name),
            .shape = {rows, columns},
            .rows = rows,
            .columns = columns,
            .all_rows = rows,
            .all_columns = columns,
            .placements = {{.box = {{0, rows}, {0, columns}}}},
            .init = Init::normal,
            .deviation = deviation,
            .has_weight_decay = true};
}

ParameterTensors::ParameterTensors(const std::vector<ParameterSpec>& specs, device::DType dtype,
                                   device::MemorySpace memory_space)
    : ParameterTensors(
          specs, dtype,
          {.buffer = std::make_shared<device::Buffer>(count_buffer_bytes(specs, dtype), memory_space)}) {}

ParameterTensors::ParameterTensors(const std::vector<ParameterSpec>& specs, device::DType dtype,
                                   device::BufferPart memory)
    : memory_(std::move(memory)), dtype_(dtype) {
    memory_.bytes = count_buffer_bytes(specs, dtype);
    if (memory_.offset + memory_.bytes > memory_.buffer->bytes())
        throw BugError(cat("parameters of ", memory_.bytes, " bytes do not fit at byte ", memory_.offset,
                           " of a buffer of ", memory_.buffer->bytes(), " bytes"));
    tensors_.reserve(specs.size());
    std::size_t offset = 0;
    for (const ParameterSpec& spec : specs) {
        tensors_.push_back({memory_.data() + offset, dtype, spec.rows, spec.columns, spec.columns,
                            memory_.buffer->memory_space()});
        offset += count_padded_bytes(spec, dtype);
    }
}

device::Tensor ParameterTensors::all() const {
    const std::size_t elements = memory_.bytes / byte_size(dtype_);
    return {memory_.data(), dtype_, 1, elements, elements, memory_.buffer->memory_space()};
}

void initialize_parameters(device::Stream& stream, const std::vector<ParameterSpec>& specs,
                           std::span<const device::Tensor> values, std::uint64_t seed) {
    for (std::size_t i = 0; i < specs.size(); ++i) {
        const ParameterSpec& spec = specs[i];
        switch (spec.init) {
            case Init::normal:
                fill_normal(stream, spec, values[i], RandomKey{seed}.then(spec.name));
                break;
            case Init::zeros:
                launch(stream, kernels::Fill{.output = values[i], .value = 0});
                break;
            case Init::ones:
                launch(stream, kernels::Fill{.output = values[i], .value = 1});
                break;
        }
    }
}

}  // namespace trireme::model

#include "trireme/model/projection.hpp"

#include "model/family.hpp"

namespace trireme {
namespace {

template <class Product>
void multiply(Stream& stream, const Product& product) {
    const double seconds = launch(stream, product);
    stream.products += {.seconds = seconds, .flops = product.cost().flops};
}

}  // namespace

Projection::Projection(const ModelConfig& config, Channels input, std::vector<Part> parts, double deviation,
                       bool has_bias)
    : input_(std::move(input)),
      parts_(std::move(parts)),
      deviation_(deviation),
      axes_(traits_of(config.family).axes),
      has_bias_(has_bias && traits_of(config.family).has_bias) {}

std::size_t Projection::output_width() const {
    std::size_t sum = 0;
    for (const Part& part : parts_) sum += part.output.count();
    return sum;
}

std::vector<ParameterSpec> Projection::parameters() const {
    std::vector<ParameterSpec> specs;
    for (const Part& part : parts_) {
        const bool is_in_out = axes_ == WeightAxes::in_out;
        const Channels& rows = is_in_out ? input_ : part.output;
        const Channels& columns = is_in_out ? part.output : input_;
        specs.push_back(
            part_of(matrix_spec(part.name + ".weight", rows.width, columns.width, deviation_), rows, columns));
        if (!has_bias_) continue;
        specs.push_back(part_of(vector_spec(part.name + ".bias", part.output.width, Init::zeros),
                                all_channels(1), part.output));
    }
    return specs;
}

void Projection::forward(const Pass& pass, Weights weights, ConstTensor input, Tensor output) const {
    std::size_t column = 0;
    std::size_t next = 0;
    for (const Part& part : parts_) {
        const ConstTensor weight = weights[next++];
        multiply(pass.stream, Linear{.input = input,
                                     .weight = weight,
                                     .bias = has_bias_ ? weights[next++] : ConstTensor{},
                                     .output = output.column_range(column, part.output.count()),
                                     .axes = axes_});
        column += part.output.count();
    }
}

void Projection::backward_input(const Pass& pass, Weights weights, ConstTensor grad_output,
                                Tensor grad_input) const {
    std::size_t column = 0;
    std::size_t next = 0;
    for (const Part& part : parts_) {
        multiply(pass.stream,
                 LinearBackwardInput{.grad_output = grad_output.column_range(column, part.output.count()),
                                     .weight = weights[next],
                                     .grad_input = grad_input,
                                     .axes = axes_,
                                     .accumulate = column > 0});
        column += part.output.count();
        next += has_bias_ ? 2 : 1;
    }
}

void Projection::backward_weight(const Pass& pass, ConstTensor input, ConstTensor grad_output,
                                 Gradients gradients) const {
    std::size_t column = 0;
    std::size_t next = 0;
    for (const Part& part : parts_) {
        const Tensor grad_weight = gradients[next++];
        multiply(pass.stream,
                 LinearBackwardWeight{.input = input,
                                      .grad_output = grad_output.column_range(column, part.output.count()),
                                      .grad_weight = grad_weight,
                                      .grad_bias = has_bias_ ? gradients[next++] : Tensor{},
                                      .axes = axes_});
        column += part.output.count();
    }
}

}  // namespace trireme

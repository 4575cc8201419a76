#include "trireme/model/projection.hpp"

#include "model/families/family.hpp"
#include "model/layers/product_work.hpp"
#include "model/rebalance/kept_channels.hpp"
#include "trireme/kernels/fill.hpp"

namespace trireme {
namespace {

// Of all multiplications beside those with channels that are kept.
double whole_beside(std::size_t channels, const KeptChannels* kept) {
    if (kept == nullptr) return 1;
    return static_cast<double>(channels) / static_cast<double>(kept->channels.size());
}

// Of a weight's kept channels, to be added to.
Tensor zero_gradient(const Pass& pass, ConstTensor weight, WeightAxes axes, const KeptChannels& kept) {
    const Tensor compact = room_for_weight(pass, weight, axes, kept);
    launch(pass.stream, Fill{.output = compact, .value = 0});
    return compact;
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

ProjectionShape Projection::shape(const ProjectionPlace& place) const {
    ProjectionShape shape{.place = place, .channels = input_.count(), .axes = axes_};
    const std::vector<ParameterSpec> specs = parameters();
    for (std::size_t i = 0; i < specs.size(); i += has_bias_ ? 2 : 1) shape.weights.push_back(specs[i]);
    return shape;
}

void Projection::forward(const Pass& pass, Weights weights, ConstTensor input, Tensor output,
                         const KeptChannels* kept, const JoinedActivation& activation) const {
    const ArenaScope scope(pass.scratch);
    const ConstTensor read = kept == nullptr ? input : kept_input(pass, input, *kept);
    std::size_t column = 0;
    std::size_t next = 0;
    for (const Part& part : parts_) {
        const ArenaScope part_scope(pass.scratch);
        const ConstTensor whole = weights[next++];
        const ConstTensor weight = kept == nullptr ? whole : kept_weight(pass, whole, axes_, *kept);
        multiply(pass.stream,
                 Linear{.input = read,
                        .weight = weight,
                        .bias = has_bias_ ? weights[next++] : ConstTensor{},
                        .output = output.column_range(column, part.output.count()),
                        .axes = axes_,
                        .activated = activation.tensor,
                        .activation = activation.kind},
                 whole_beside(input_.count(), kept));
        column += part.output.count();
    }
}

void Projection::backward_input(const Pass& pass, Weights weights, ConstTensor grad_output, Tensor grad_input,
                                KeptChannels* kept, const JoinedActivation& activation) const {
    const ArenaScope scope(pass.scratch);
    const Tensor made = kept == nullptr ? grad_input : room_for_input(pass, grad_input.rows, *kept);
    std::size_t column = 0;
    std::size_t next = 0;
    for (const Part& part : parts_) {
        const ArenaScope part_scope(pass.scratch);
        const ConstTensor whole = weights[next];
        const ConstTensor weight = kept == nullptr ? whole : kept_weight(pass, whole, axes_, *kept);
        multiply(pass.stream,
                 LinearBackwardInput{.grad_output = grad_output.column_range(column, part.output.count()),
                                     .weight = weight,
                                     .grad_input = made,
                                     .axes = axes_,
                                     .accumulate = column > 0,
                                     .activated_from = activation.tensor,
                                     .activation = activation.kind},
                 whole_beside(input_.count(), kept));
        column += part.output.count();
        next += has_bias_ ? 2 : 1;
    }
    if (kept != nullptr) spread_input(pass, made, *kept, grad_input);
}

void Projection::backward_weight(const Pass& pass, ConstTensor input, ConstTensor grad_output,
                                 Gradients gradients, KeptChannels* kept) const {
    const ArenaScope scope(pass.scratch);
    const ConstTensor read = kept == nullptr ? input : kept_input(pass, input, *kept);
    std::size_t column = 0;
    std::size_t next = 0;
    for (std::size_t p = 0; p < parts_.size(); ++p) {
        const ArenaScope part_scope(pass.scratch);
        const std::size_t width = parts_[p].output.count();
        const Tensor whole = gradients[next++];
        const Tensor made = kept == nullptr ? whole : zero_gradient(pass, whole, axes_, *kept);
        multiply(pass.stream,
                 LinearBackwardWeight{.input = read,
                                      .grad_output = grad_output.column_range(column, width),
                                      .grad_weight = made,
                                      .grad_bias = has_bias_ ? gradients[next++] : Tensor{},
                                      .axes = axes_},
                 whole_beside(input_.count(), kept));
        if (kept != nullptr) spread_weight(pass, made, axes_, *kept, p, whole);
        column += width;
    }
}

}  // namespace trireme

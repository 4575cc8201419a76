#include "trireme/model/patch_embedding.hpp"

#include "trireme/kernels/image_rows.hpp"
#include "trireme/kernels/linear.hpp"
#include "trireme/kernels/rows.hpp"
#include "trireme/model/dropout_site.hpp"
#include "trireme/model/family.hpp"
#include "trireme/model/tensor_group.hpp"

namespace trireme::model {
namespace {

// Indices into parameters().
enum : std::size_t { class_token, position_table, patch_weight, patch_bias };

}  // namespace

PatchEmbedding::PatchEmbedding(const ModelConfig& config, const TensorPart& part)
    : position_table_(find_traits(config.family).position_table),
      image_(config.image),
      width_(config.width),
      deviation_(config.init_deviation),
      dropout_(config.dropout),
      is_first_(part.is_first()) {}

std::vector<ParameterSpec> PatchEmbedding::parameters() const {
    const std::string projection_prefix = "vit.embeddings.patch_embeddings.projection.";
    const auto make_table = [&](std::string name, std::size_t rows) {
        ParameterSpec spec = make_matrix_spec(std::move(name), rows, width_, deviation_);
        spec.shape = {1, rows, width_};
        spec.has_weight_decay = false;
        return spec;
    };
    ParameterSpec projection =
        make_matrix_spec(projection_prefix + "weight", width_, image_.count_patch_values(), deviation_);
    projection.shape = {width_, image_.channels, image_.patch, image_.patch};
    return {make_table("vit.embeddings.cls_token", 1), make_table(position_table_, image_.count_patches() + 1),
            projection, make_vector_spec(projection_prefix + "bias", width_, Init::zeros)};
}

device::Tensor PatchEmbedding::forward(const Pass& pass, Weights weights, device::ConstTensor /*input*/,
                                       State& state, device::Arena& stash) const {
    state.pixels = pass.batch.pixels;
    if (pass.dtype != state.pixels.dtype) {
        const device::Tensor converted_pixels =
            stash.tensor(pass.dtype, state.pixels.rows, state.pixels.columns);
        launch(pass.stream, kernels::Copy{.input = state.pixels, .output = converted_pixels});
        state.pixels = converted_pixels;
    }
    const device::Tensor output = stash.tensor(pass.dtype, pass.batch.rows(), width_);
    const device::Tensor patches = stash.tensor(pass.dtype, state.pixels.rows, width_);
    launch(pass.stream, kernels::Linear{.input = state.pixels,
                                        .weight = weights[patch_weight],
                                        .bias = weights[patch_bias],
                                        .output = patches,
                                        .axes = kernels::WeightAxes::out_in});
    launch(pass.stream, kernels::ImageRows{.patches = patches,
                                           .class_token = weights[class_token],
                                           .position_table = weights[position_table],
                                           .output = output});
    apply_dropout(pass, output, make_dropout_for_all_rows(pass, dropout_, 0, DropoutSite::embedding));
    return view_own_rows(pass, output);
}

// The input consists of pixels, whose gradient no layer needs.
void PatchEmbedding::backward_input(const Pass&, Weights, device::ConstTensor, device::ConstTensor,
                                    device::Tensor, State&, device::Arena&) const {}

void PatchEmbedding::backward_weight(const Pass& pass, Weights /*weights*/, device::ConstTensor /*input*/,
                                     device::ConstTensor grad_output, State& state, Gradients gradients,
                                     device::Arena& scratch) const {
    const device::ArenaScope scope(scratch);
    grad_output = gather_all_rows(
        pass,
        apply_dropout_backward(pass, grad_output,
                               make_dropout_for_own_rows(pass, dropout_, 0, DropoutSite::embedding), scratch),
        scratch);
    // All tensor ranks would compute equal gradients. The gradients are later summed over the ranks, so only
    // the first rank adds them.
    if (!is_first_) return;
    const device::Tensor grad_patches = scratch.tensor(pass.dtype, state.pixels.rows, width_);
    launch(pass.stream, kernels::ImageRowsBackward{.grad_output = grad_output,
                                                   .grad_patches = grad_patches,
                                                   .grad_class_token = gradients[class_token],
                                                   .grad_position_table = gradients[position_table]});
    launch(pass.stream, kernels::LinearBackwardWeight{.input = state.pixels,
                                                      .grad_output = grad_patches,
                                                      .grad_weight = gradients[patch_weight],
                                                      .grad_bias = gradients[patch_bias],
                                                      .axes = kernels::WeightAxes::out_in});
}

}  // namespace trireme::model

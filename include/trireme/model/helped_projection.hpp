// A projection of which helpers may compute a part: see HelpedProducts.
#pragma once

#include "trireme/model/helped_products.hpp"
#include "trireme/model/projection.hpp"

namespace trireme {

class Helping;

// What a helper keeps of a guest from its forward pass to its backward one.
struct GuestState {
    std::vector<Tensor> weights = {};  // (channels, outputs) or (outputs, channels) of each matrix
    Tensor input = {};                 // (rows, channels), where it came by message
    Tensor grad_output = {};           // (rows, all outputs), likewise
};

// What a projection reads: what all tensor ranks have, or what its rank alone has.
enum class Reads : std::uint8_t { all, own };

class HelpedProjection {
public:
    using State = std::vector<GuestState>;  // of each guest, in a micro-batch

    HelpedProjection(Projection projection, ProjectionPlace place, Reads reads);

    ProjectionShape shape() const { return projection_.shape(place_); }
    std::vector<ParameterSpec> parameters() const { return projection_.parameters(); }
    std::size_t parameter_count() const { return projection_.parameter_count(); }
    std::size_t output_width() const { return projection_.output_width(); }

    // As Projection has them; where there is help, messages go between the ranks of the team.
    void forward(const Pass& pass, Weights weights, ConstTensor input, Tensor output, State& state, Arena& kept,
                 const JoinedActivation& activation = {}) const;
    void backward_input(const Pass& pass, Weights weights, ConstTensor grad_output, Tensor grad_input,
                        State& state, Arena& kept, const JoinedActivation& activation = {}) const;
    void backward_weight(const Pass& pass, ConstTensor input, ConstTensor grad_output, const State& state,
                         Gradients gradients) const;

    // Whether an activation may be joined to its product, and gains by it: all of that is made here, at once.
    bool joins(const Pass& pass, ActivationKind activation) const;

private:
    void forward_for_owners(const Pass& pass, Weights weights, ConstTensor input, Tensor output,
                            const State& state, Helping& helping) const;
    void forward_into_sum(const Pass& pass, Weights weights, ConstTensor input, Tensor output,
                          const State& state, Helping& helping) const;
    void backward_into_sum(const Pass& pass, Weights weights, ConstTensor grad_output, Tensor grad_input,
                           State& state, Arena& kept) const;
    void backward_for_owners(const Pass& pass, Weights weights, ConstTensor grad_output, Tensor grad_input,
                             const State& state) const;
    void give_back_weights(const Pass& pass, ConstTensor input, ConstTensor grad_output,
                           const GuestChannels& guest, const GuestState& state, Helping& helping) const;
    const HelpedProduct* helped(const Pass& pass) const;  // null where nobody helps

    Projection projection_;
    ProjectionPlace place_;
    Reads reads_;
};

}  // namespace trireme

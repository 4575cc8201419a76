// A profile whose sums can be computed by hand.
#pragma once

#include "trireme/plan/profile.hpp"

namespace trireme::validation {

// Layer l takes l + 1 seconds forward. Each half of a backward pass takes twice as long, a complete one three
// times, and the update eight times.
inline plan::Profile small_profile(std::size_t layers) {
    plan::Profile profile{.machine = "abacus",
                          .device = "cpu",
                          .threads = 2,
                          .repeats = 3,
                          .model = "gpt2-tiny",
                          .dtype = "f32",
                          .microbatch = plan::make_equal_length_shape(4, 256)};
    for (std::size_t l = 0; l < layers; ++l) {
        const auto unit = static_cast<double>(l + 1);
        profile.layers.push_back({.name = "attention",
                                  .measured = l,
                                  .forward = unit,
                                  .backward = 3 * unit,
                                  .backward_input = 2 * unit,
                                  .backward_weight = 2 * unit,
                                  .update = 8 * unit,
                                  .activation = 100 * (l + 1),
                                  .rows = 64,
                                  .parameters = 1000 * (l + 1),
                                  .workspace = 10 * (l + 1)});
    }
    return profile;
}

// Returns the profile of a device on which layers and kernels take `times` times as long.
inline plan::Profile slower(plan::Profile profile, double times, const char* machine = "slide rule") {
    profile.machine = machine;
    for (plan::LayerProfile& layer : profile.layers) {
        for (double* seconds :
             {&layer.forward, &layer.backward, &layer.backward_input, &layer.backward_weight, &layer.update})
            *seconds *= times;
    }
    for (plan::KernelProfile& kernel : profile.kernels) kernel.seconds *= times;
    profile.launch *= times;
    return profile;
}

}  // namespace trireme::validation

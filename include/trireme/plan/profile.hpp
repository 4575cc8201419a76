// What each layer of a model costs on a machine, and each kernel, as `trireme profile` measured it.
//
//   {"schema": 1, "machine": "...", "device": "cpu", "threads": 1, "repeats": 7,
//    "model": "gpt2", "dtype": "f32", "micro_batch": {"samples": 1, "tokens": 1024},
//    "layers": [{"name": "embedding", "measured": 0,
//                "seconds": {"forward": ..., "backward": ..., "backward_input": ..., "backward_weight": ...,
//                            "update": ...},
//                "bytes": {"activation": ..., "rows": ..., "parameters": ..., "workspace": ...}}, ...],
//    "kernels": [{"kernel": "linear", "product": [1024, 2304, 768], "flops": ..., "bytes": ..., "calls": 14,
//                 "seconds": ...}, {"kernel": "adamw", "flops": 0, "bytes": ..., ...}, ...],
//    "launch": 5e-7,
//    "links": [{"ranks": 4, "latency": 1e-6, "bandwidth": 1e10}, {"latency": 2e-5, "bandwidth": 1e9}]}
//
// Kernels may be left out, and so may "launch" and links. Only what is a single product of matrices has a
// "product": rows, columns, depth. What will be measured beside all this gets keys of its own, which may be
// missing; where a key changes its meaning, the schema counts up.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "trireme/layout/links.hpp"
#include "trireme/plan/kernel_times.hpp"

namespace trireme::plan {

struct LayerProfile {
    std::string name;          // "attention"
    std::size_t measured = 0;  // the number of the layer that was measured: this one, or one equal to it

    // Seconds of a micro-batch in training.
    double forward = 0;
    double backward = 0;  // whole; its halves may take longer apart
    double backward_input = 0;
    double backward_weight = 0;
    double update = 0;  // of a step: gradients cleared and their norm taken, parameters updated

    // Bytes.
    std::size_t activation = 0;  // kept of a micro-batch between its passes
    std::size_t rows = 0;        // handed on of a micro-batch; the last layer hands on nothing
    std::size_t parameters = 0;
    std::size_t workspace = 0;  // of a stage that has this layer's whole block

    friend bool operator==(const LayerProfile&, const LayerProfile&) = default;
};

struct Profile {
    std::string machine;  // its processor
    std::string device;   // "cpu"
    int threads = 1;
    std::size_t repeats = 1;  // of which the medians are given
    std::string model;
    std::string dtype;                      // "f32"
    std::size_t samples = 1;                // of the micro-batch
    std::size_t tokens = 0;                 // of the micro-batch, padding included; rows of images
    std::vector<LayerProfile> layers = {};  // of the model's list: 27 for gpt2
    std::vector<KernelProfile> kernels = {};
    double launch = 0;  // seconds from one kernel to the next
    std::vector<layout::LinkLevel> links = {};

    friend bool operator==(const Profile&, const Profile&) = default;
};

std::string json_of(const Profile& profile);

// Throws ConfigError for a text that is no profile, naming the place in it; `place` is the file's name.
Profile profile_from_json(std::string_view text, const std::string& place);

}  // namespace trireme::plan

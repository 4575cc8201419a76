// The measured costs of each layer of a model and of each kernel on a machine, as written by `trireme profile`.
//
//   {"schema": 1, "machine": "...", "device": "cpu", "threads": 1, "repeats": 7,
//    "model": "gpt2", "dtype": "f32",
//    "micro_batch": {"samples": 1, "tokens": 1024, "real_tokens": 1000, "square_length_sum": 1000000,
//                    "predicted_rows": 999},
//    "layers": [{"name": "embedding", "measured": 0,
//                "seconds": {"forward": ..., "backward": ..., "backward_input": ..., "backward_weight": ...,
//                            "update": ...},
//                "bytes": {"activation": ..., "rows": ..., "parameters": ..., "workspace": ...}}, ...],
//    "kernels": [{"kernel": "linear", "product": [1024, 2304, 768], "flops": ..., "bytes": ..., "calls": 14,
//                 "seconds": ...}, {"kernel": "adamw", "flops": 0, "bytes": ..., ...}, ...],
//    "launch": 5e-7,
//    "links": [{"ranks": 4, "latency": 1e-6, "bandwidth": 1e10}, {"latency": 2e-5, "bandwidth": 1e9}]}
//
// "tokens" counts padding, and the other counts of the micro-batch do not. Counts other than "samples" and
// "tokens" are optional: by default, the samples are equally long, and all rows have a target. "kernels",
// "launch" and "links" are optional. A kernel that is a single matmul has a "product": its rows,
// columns and depth. Future measurements get new optional keys; if a key changes its meaning, the schema number
// increases.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "trireme/layout/links.hpp"
#include "trireme/plan/stage_work.hpp"

namespace trireme::plan {

struct LayerProfile {
    std::string name;          // for example "attention"
    std::size_t measured = 0;  // index of the measured layer: this layer, or an earlier one with equal costs

    // Seconds in training: per step for `update`, per micro-batch for the other fields.
    double forward = 0;
    double backward = 0;  // whole pass; `backward_input` and `backward_weight` together may take longer
    double backward_input = 0;
    double backward_weight = 0;
    double update = 0;  // clear gradients, compute their norm, update parameters

    // Bytes.
    std::size_t activation = 0;  // per micro-batch: activation stash, kept until the backward pass
    std::size_t rows = 0;        // per micro-batch: output, which the next layer reads; 0 for the last layer
    std::size_t parameters = 0;
    // Temporary memory of a stage that consists of this layer's block, or of this layer if it is in no block.
    std::size_t workspace = 0;

    friend bool operator==(const LayerProfile&, const LayerProfile&) = default;
};

struct Profile {
    std::string machine;  // name of the processor or GPU
    std::string device;   // "cpu", "cuda" or "reference"
    int threads = 1;
    std::size_t repeats = 1;  // minimum number of measurements per time; times are medians
    std::string model;
    std::string dtype;                      // for example "f32"
    MicrobatchShape microbatch = {};        // the measured micro-batch
    std::vector<LayerProfile> layers = {};  // one per layer of the model: 27 for gpt2
    std::vector<KernelProfile> kernels = {};
    double launch = 0;  // seconds to launch a kernel, in addition to the kernel's own seconds
    std::vector<layout::LinkLevel> links = {};  // by ascending group size; empty if not measured

    friend bool operator==(const Profile&, const Profile&) = default;
};

std::string to_json(const Profile& profile);

// Parses `text`, the content of the file `file_name`. Throws ConfigError, naming the JSON key, if `text` is not
// a valid profile.
Profile parse_profile(std::string_view text, const std::string& file_name);

}  // namespace trireme::plan

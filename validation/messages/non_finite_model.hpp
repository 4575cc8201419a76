// A stored model of two layers, one weight of which is NaN.
#pragma once

#include <cstring>
#include <limits>

#include "messages/workplace.hpp"

namespace trireme::messages {

inline const std::string config_of_two_layers =
    R"({"architectures": ["GPT2LMHeadModel"], "model_type": "gpt2", "n_layer": 2,
    "n_embd": 4, "n_head": 2, "n_positions": 16, "vocab_size": 257, "activation_function": "gelu_new"})";

inline constexpr const char* cause_of_nan =
    ", layer transformer.h.1.mlp, micro-batch 0, forward: output of linear is nan at [0, 5] because its "
    "weight, "
    "parameter transformer.h.1.mlp.c_fc.weight, is nan at [2, 5]";

class NonFinite : public Workplace {
protected:
    void SetUp() override {
        make_corpus();
        write("model/config.json", config_of_two_layers);
        add("transformer.wte.weight", {257, 4});
        add("transformer.wpe.weight", {16, 4});
        for (const char* const block : {"transformer.h.0.", "transformer.h.1."}) add_block(block);
        add_norm("transformer.ln_f");
        std::string file;
        header_ += "}";
        for (int byte = 0; byte < 8; ++byte) file += static_cast<char>(header_.size() >> (8 * byte) & 255);
        write("model/model.safetensors", file + header_ + content_);
    }

    Outcome train(const std::string& options, int ranks = 0, std::size_t mpi = 0) const {
        return run(
            "train --corpus corpus.h5 --max-length 16 --batch 4 --microbatches 2 --init model --threads 1 "
            "--steps 3 --quiet --run-dir run " +
                options,
            ranks, mpi);
    }

private:
    void add(const std::string& name, const std::vector<std::size_t>& shape) {
        std::string extents;
        std::size_t elements = 1;
        for (const std::size_t extent : shape) {
            extents += (extents.empty() ? "" : ",") + std::to_string(extent);
            elements *= extent;
        }
        const std::size_t begin = content_.size();
        content_.resize(begin + 4 * elements);
        if (name == "transformer.h.1.mlp.c_fc.weight") {
            const float nan = std::numeric_limits<float>::quiet_NaN();
            std::memcpy(&content_[begin + 4 * (2 * 16 + 5)], &nan, sizeof nan);
        }
        header_ += (header_.empty() ? "{\"" : ",\"") + name + R"(":{"dtype":"F32","shape":[)" + extents +
                   R"(],"data_offsets":[)" + std::to_string(begin) + "," + std::to_string(content_.size()) +
                   "]}";
    }

    void add_norm(const std::string& name) {
        add(name + ".weight", {4});
        add(name + ".bias", {4});
    }

    void add_matrix(const std::string& name, std::size_t in, std::size_t out) {
        add(name + ".weight", {in, out});
        add(name + ".bias", {out});
    }

    void add_block(const std::string& name) {
        add_norm(name + "ln_1");
        add_matrix(name + "attn.c_attn", 4, 12);
        add_matrix(name + "attn.c_proj", 4, 4);
        add_norm(name + "ln_2");
        add_matrix(name + "mlp.c_fc", 4, 16);
        add_matrix(name + "mlp.c_proj", 16, 4);
    }

    std::string header_, content_;
};

}  // namespace trireme::messages

// The message about a loss that is not finite: the origin of the value, by rank, layer, micro-batch and
// step. The stored model that it starts from has one weight that is NaN.
#include <cstring>
#include <limits>

#include "messages/workplace.hpp"

namespace trireme::messages {
namespace {

const std::string config = R"({"architectures": ["GPT2LMHeadModel"], "model_type": "gpt2", "n_layer": 2,
    "n_embd": 4, "n_head": 2, "n_positions": 16, "vocab_size": 257, "activation_function": "gelu_new"})";

constexpr const char* cause =
    ", layer transformer.h.1.mlp, micro-batch 0, forward: output of linear is nan at [0, 5] because its "
    "weight, "
    "parameter transformer.h.1.mlp.c_fc.weight, is nan at [2, 5]";

class NonFinite : public Workplace {
protected:
    void SetUp() override {
        make_corpus();
        write("model/config.json", config);
        add("transformer.wte.weight", {257, 4});
        add("transformer.wpe.weight", {16, 4});
        for (const char* const block : {"transformer.h.0.", "transformer.h.1."}) add_block(block);
        add_norm("transformer.ln_f");
        std::string file;
        header_ += "}";
        for (int byte = 0; byte < 8; ++byte) file += static_cast<char>(header_.size() >> (8 * byte) & 255);
        write("model/model.safetensors", file + header_ + content_);
    }

    Outcome train(const std::string& options, int ranks = 0) const {
        return run(
            "train --corpus corpus.h5 --max-length 16 --batch 4 --microbatches 2 --init model --device cpu "
            "--threads 1 --steps 3 --quiet --run-dir run " +
                options,
            ranks);
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

TEST_F(NonFinite, NamesRankLayerMicroBatchAndStepAndEndsTheRun) {
    const Outcome outcome = train("");

    EXPECT_EQ(outcome.code, 2) << outcome.err;
    EXPECT_EQ(outcome.err, std::string("trireme: step 1 has loss nan and gradient norm nan; first non-finite "
                                       "value: rank 0 (stage 0)") +
                               cause + "; lower --lr, or skip such updates with --on-nan skip\n");
    const std::string record = std::string("\"non_finite\":\"first non-finite value: rank 0 (stage 0)") + cause;
    EXPECT_NE(read("run/steps.jsonl").find(record), std::string::npos) << read("run/steps.jsonl");
    EXPECT_NE(read("run/summary.json").find("\"reason\": \"step 1 has loss nan"), std::string::npos)
        << read("run/summary.json");
}

// The first rank gets the NaN back as a gradient, and is not named.
TEST_F(NonFinite, NamesTheRankOfAPipelineThatItComesFrom) {
    const Outcome outcome = train("--pipe 2", 2);

    EXPECT_EQ(outcome.code, 2) << outcome.err;
    ASSERT_EQ(sentences(outcome).size(), 1U) << outcome.err;
    EXPECT_NE(outcome.err.find(std::string("step 1 has loss nan and gradient norm nan; first non-finite value: "
                                           "rank 1 (stage 1)") +
                               cause),
              std::string::npos)
        << outcome.err;
}

TEST_F(NonFinite, IsLookedForInTheFirstSkippedStepAlone) {
    const Outcome outcome = train("--on-nan skip");

    EXPECT_EQ(outcome.code, 0) << outcome.err;
    const std::string records = read("run/steps.jsonl");
    const std::size_t first = records.find("\"non_finite\"");
    ASSERT_NE(first, std::string::npos) << records;
    EXPECT_LT(first, records.find('\n'));
    EXPECT_EQ(records.find("\"non_finite\"", first + 1), std::string::npos) << records;
}

}  // namespace
}  // namespace trireme::messages

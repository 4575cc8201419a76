// The messages of `convert` about models that it cannot read. The first test shows that it reads the same model
// if nothing is wrong.
#include "messages/workplace.hpp"

namespace trireme::messages {
namespace {

struct Tensor {
    std::string name;
    std::vector<std::size_t> shape;
};

const std::string config = R"({"architectures": ["GPT2LMHeadModel"], "model_type": "gpt2", "n_layer": 1,
    "n_embd": 4, "n_head": 2, "n_positions": 3, "vocab_size": 5, "activation_function": "gelu_new"})";

class Convert : public Workplace {
protected:
    void SetUp() override { write("model/config.json", config); }

    // Writes a safetensors file of zeros. `excess_length` is added to the length of the header, and `lost`
    // bytes are cut off the end.
    void write_tensors(const std::string& name, const std::vector<Tensor>& tensors,
                       std::size_t excess_length = 0, std::size_t lost = 0) const {
        std::string header;
        std::size_t end = 0;
        for (const Tensor& tensor : tensors) {
            std::string shape;
            std::size_t bytes = 4;
            for (const std::size_t extent : tensor.shape) {
                shape += (shape.empty() ? "" : ",") + std::to_string(extent);
                bytes *= extent;
            }
            header += (header.empty() ? "{\"" : ",\"") + tensor.name + R"(":{"dtype":"F32","shape":[)" + shape +
                      R"(],"data_offsets":[)" + std::to_string(end) + "," + std::to_string(end + bytes) + "]}";
            end += bytes;
        }
        header += "}";
        std::string file;
        for (int byte = 0; byte < 8; ++byte)
            file += static_cast<char>((header.size() + excess_length) >> (8 * byte) & 255);
        file += header + std::string(end, '\0');
        write(name, file.substr(0, file.size() - lost));
    }

    static std::vector<Tensor> tensors() {
        const std::string block = "transformer.h.0.";
        return {{"transformer.wte.weight", {5, 4}},
                {"transformer.wpe.weight", {3, 4}},
                {block + "ln_1.weight", {4}},
                {block + "ln_1.bias", {4}},
                {block + "attn.c_attn.weight", {4, 12}},
                {block + "attn.c_attn.bias", {12}},
                {block + "attn.c_proj.weight", {4, 4}},
                {block + "attn.c_proj.bias", {4}},
                {block + "ln_2.weight", {4}},
                {block + "ln_2.bias", {4}},
                {block + "mlp.c_fc.weight", {4, 16}},
                {block + "mlp.c_fc.bias", {16}},
                {block + "mlp.c_proj.weight", {16, 4}},
                {block + "mlp.c_proj.bias", {4}},
                {"transformer.ln_f.weight", {4}},
                {"transformer.ln_f.bias", {4}}};
    }
};

TEST_F(Convert, ConvertsAModelToACheckpointAndBack) {
    write_tensors("model/model.safetensors", tensors());

    const Outcome converted = run("convert model checkpoints");
    const Outcome back = run("convert checkpoints back");

    EXPECT_EQ(converted.code, 0) << converted.err;
    EXPECT_EQ(
        converted.out.rfind("checkpoints/step-0 holds 16 tensors, 284 parameters, converted from model", 0), 0U)
        << converted.out;
    EXPECT_EQ(back.code, 0) << back.err;
    EXPECT_EQ(read("checkpoints/latest"), "step-0\n");
    EXPECT_NE(read("back/model.safetensors").find("\"transformer.wte.weight\""), std::string::npos);
}

TEST_F(Convert, RejectsAMissingNameAndInvalidOptions) {
    expect_refusal("convert model", {"an input and an output folder, not 1 name"});
    expect_refusal("convert model out --dtype f8", {"--dtype expects one of f32, bf16, f16, f64"});
    expect_refusal("convert model out --shard-size many", {"--shard-size expects a positive number of bytes"});
}

TEST_F(Convert, RejectsAMissingModel) {
    expect_refusal("convert none out", {"the model none does not exist"});
    expect_refusal("convert model out", {"model holds no model"});
}

TEST_F(Convert, ReportsBothShapesOfATensorThatDoesNotFit) {
    std::vector<Tensor> other = tensors();
    other[0].shape = {4, 5};
    write_tensors("model/model.safetensors", other);

    expect_refusal("convert model out",
                   {"transformer.wte.weight of model/model.safetensors has the shape (4, 5)", "has (5, 4)"});
}

TEST_F(Convert, RejectsAnUnsupportedArchitecture) {
    write("model/config.json", R"({"architectures": ["T5Model"], "model_type": "t5"})");
    write_tensors("model/model.safetensors", tensors());

    expect_refusal("convert model out", {"model/config.json", "T5Model"});
}

TEST_F(Convert, ReportsMissingTensors) {
    std::vector<Tensor> some = tensors();
    some.erase(some.begin() + 4, some.begin() + 9);
    write_tensors("model/model.safetensors", some);

    expect_refusal("convert model out", {"model lacks 5 of the model's 16 parameters",
                                         "transformer.h.0.attn.c_attn.weight", "and 2 more"});
}

TEST_F(Convert, RejectsAHeaderWithAWrongLength) {
    write_tensors("model/model.safetensors", tensors(), std::size_t{1} << 40);
    expect_refusal("convert model out",
                   {"model/model.safetensors says that its header has 10995116", "cut short"});

    write_tensors("model/model.safetensors", tensors(), 4);
    expect_refusal("convert model out", {"the header of model/model.safetensors"});
}

TEST_F(Convert, ReportsATruncatedShard) {
    std::vector<Tensor> first = tensors();
    const std::vector<Tensor> second{first.back()};
    first.pop_back();
    write_tensors("model/one.safetensors", first, 0, 7);
    write_tensors("model/two.safetensors", second);
    std::string map = "\"" + second[0].name + "\":\"two.safetensors\"";
    for (const Tensor& tensor : first) map += ",\"" + tensor.name + "\":\"one.safetensors\"";
    write("model/model.safetensors.index.json", "{\"weight_map\":{" + map + "}}");

    expect_refusal("convert model out", {"model/one.safetensors", "the file is cut short or damaged"});
}

TEST_F(Convert, RejectsEmptyNames) {
    for (const std::vector<std::string>& words :
         {std::vector<std::string>{"convert", "model", ""}, std::vector<std::string>{"convert", "", "out"}}) {
        const Outcome outcome = run(words, 0, 0);

        EXPECT_EQ(outcome.code, 2) << outcome.err;
        EXPECT_NE(outcome.err.find("of convert is an empty name; name a folder"), std::string::npos)
            << outcome.err;
    }
}

TEST_F(Convert, RejectsAnIndexThatIsNestedTooDeeply) {
    write("model/model.safetensors.index.json",
          "{\"weight_map\":{\"a\":" + std::string(2'000'000, '[') + std::string(2'000'000, ']') + "}}");

    expect_refusal("convert model out", {"model/model.safetensors.index.json is nested deeper than 64 levels"});
}

TEST_F(Convert, RejectsAnOutputThatIsNotAnEmptyFolder) {
    write_tensors("model/model.safetensors", tensors());
    write("full/notes.txt", "mine");

    expect_refusal("convert model full", {"full already holds notes.txt", "name another folder"});
    expect_refusal("convert model model", {"model already holds"});
    expect_refusal("convert model full/notes.txt", {"cannot be written", "name another folder"});
}

}  // namespace
}  // namespace trireme::messages

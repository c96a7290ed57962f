// The rows of tests/bench/speed.c in libtorch's C++ frontend, for comparison. Compiled by
// tests/bench/speed.py against the PyTorch that it finds.
#include <torch/torch.h>

#include <memory>

#include "../row_time.h"

namespace {

torch::Tensor a, b, x, y, params[4];
torch::nn::Sequential model;
std::unique_ptr<torch::optim::Adam> optimizer, functional_optimizer;

void add() { const torch::Tensor sum = torch::add(a, b); }

void learn(const torch::Tensor& prediction, torch::optim::Adam& with) {
  const torch::Tensor loss = torch::mse_loss(prediction, y);
  with.zero_grad();
  loss.backward();
  with.step();
}

void mlp() { learn(model->forward(x), *optimizer); }

void mlp_functional() {
  const torch::Tensor hidden = torch::relu(torch::linear(x, params[0], params[1]));
  learn(torch::linear(hidden, params[2], params[3]), *functional_optimizer);
}

torch::nn::Sequential new_model() {
  return torch::nn::Sequential(torch::nn::Linear(16, 64), torch::nn::ReLU(),
                               torch::nn::Linear(64, 1));
}

std::unique_ptr<torch::optim::Adam> adam(const torch::nn::Sequential& of) {
  return std::make_unique<torch::optim::Adam>(of->parameters(), torch::optim::AdamOptions(1e-3));
}

}  // namespace

int main(int argc, char** argv) {
  const double seconds = argc > 1 ? atof(argv[1]) : 0.5;
  torch::set_num_threads(1);
  a = torch::ones({1});
  b = torch::ones({1});
  row("add", add, seconds);
  a.requires_grad_();
  row("add, autograd", add, seconds);

  x = torch::randn({64, 16});
  y = torch::randn({64, 1});
  model = new_model();
  optimizer = adam(model);
  torch::nn::Sequential other = new_model();
  functional_optimizer = adam(other);
  for (size_t i = 0; i < 4; ++i) params[i] = other->parameters()[i];
  row("MLP step, modules", mlp, seconds);
  row("MLP step, functions", mlp_functional, seconds);
}

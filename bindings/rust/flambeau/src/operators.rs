//! `+ - * /` and `-x` on references. They panic with the engine's text; `add`, `sub`, ... return
//! it.

use std::ops;

use crate::{Operand, Result, Tensor};

#[track_caller]
fn expect(result: Result<Tensor>) -> Tensor {
    match result {
        Ok(tensor) => tensor,
        Err(error) => panic!("{}", error),
    }
}

macro_rules! binary {
    ($($trait:ident $name:ident $assign_trait:ident $assign:ident $in_place:ident;)*) => {
        $(
            impl<O: Operand> ops::$trait<O> for &Tensor {
                type Output = Tensor;

                #[track_caller]
                fn $name(self, other: O) -> Tensor {
                    expect(Tensor::$name(self, other))
                }
            }

            impl<O: Operand> ops::$trait<O> for Tensor {
                type Output = Tensor;

                #[track_caller]
                fn $name(self, other: O) -> Tensor {
                    expect(Tensor::$name(&self, other))
                }
            }

            impl ops::$trait<&Tensor> for f64 {
                type Output = Tensor;

                #[track_caller]
                fn $name(self, other: &Tensor) -> Tensor {
                    expect(crate::scalar_f64(self).and_then(|number| Tensor::$name(&number, other)))
                }
            }

            impl<O: Operand> ops::$assign_trait<O> for Tensor {
                #[track_caller]
                fn $assign(&mut self, other: O) {
                    if let Err(error) = self.$in_place(other) {
                        panic!("{}", error);
                    }
                }
            }
        )*
    };
}

binary! {
    Add add AddAssign add_assign add_;
    Sub sub SubAssign sub_assign sub_;
    Mul mul MulAssign mul_assign mul_;
    Div div DivAssign div_assign div_;
}

impl ops::Neg for &Tensor {
    type Output = Tensor;

    #[track_caller]
    fn neg(self) -> Tensor {
        expect(Tensor::neg(self))
    }
}

impl ops::Neg for Tensor {
    type Output = Tensor;

    #[track_caller]
    fn neg(self) -> Tensor {
        expect(Tensor::neg(&self))
    }
}
